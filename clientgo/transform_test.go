// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestTransformRunsOncePerReceivedObject checks that a transform is called once for each object
// received. It may change name and namespace, and clear UID and resourceVersion: later states, the
// deletion and a relist still find the object.
func TestTransformRunsOncePerReceivedObject(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		server := newServer("a")
		var calls atomic.Int32
		h := runWith(t, server, clientgo.Options{Packed: packed}, clientcache.SharedIndexInformerOptions{Indexers: clientcache.Indexers{"name": byName}}, withTransform(t, func(obj any) (any, error) {
			calls.Add(1)
			pod := obj.(*corev1.Pod)
			pod.Name, pod.Namespace = "renamed-"+pod.Name, "elsewhere"
			pod.ResourceVersion, pod.UID = "", ""
			return pod, nil
		}))
		server.Create(cachetest.Pod("b"))
		synctest.Wait()
		server.Update(cachetest.Pod("a", cachetest.WithLabel("v", "1")))
		synctest.Wait()
		server.Delete("ns/b")
		h.expectEvents("A renamed-a initial", "A renamed-b", "U renamed-a", "D renamed-b")
		if got := calls.Load(); got != 4 {
			t.Errorf("%d transforms, want 4", got)
		}
		found, err := h.informer.GetIndexer().ByIndex("name", "renamed-a")
		if err != nil || len(found) != 1 || found[0].(*corev1.Pod).Labels["v"] != "1" {
			t.Errorf("the index has %v, %v", found, err)
		}
		if keys := h.informer.GetStore().ListKeys(); len(keys) != 1 || keys[0] != "elsewhere/renamed-a" {
			t.Errorf("the store has the keys %q", keys)
		}
		server.relist()
		h.expectEvents()
	})
}

// TestRelistCallsNoFunctionForUnchangedObjects relists ten Pods, one of which has changed. The
// transform and the index function are called for it alone, and with RelistUpdates for all.
func TestRelistCallsNoFunctionForUnchangedObjects(t *testing.T) {
	for name, test := range map[string]struct {
		options clientgo.Options
		calls   int32
	}{
		"live":          {clientgo.Options{}, 1},
		"packed":        {clientgo.Options{Packed: true}, 1},
		"RelistUpdates": {clientgo.Options{RelistUpdates: true}, 10},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
			var transformed, indexed atomic.Int32
			h := runWith(t, server, test.options, clientcache.SharedIndexInformerOptions{Indexers: clientcache.Indexers{
				"counted": func(obj any) ([]string, error) { indexed.Add(1); return byName(obj) },
			}}, withTransform(t, func(obj any) (any, error) { transformed.Add(1); return obj, nil }))
			synctest.Wait()
			h.take()
			transformed.Store(0)
			indexed.Store(0)
			server.relistAfter(func() { server.Update(cachetest.Pod("b", cachetest.WithLabel("v", "1"))) })
			synctest.Wait()
			if events := h.take(); !slices.Contains(events, "U b@12") || len(events) != int(test.calls) {
				t.Errorf("the handler received %q, want %d events", events, test.calls)
			}
			if n, m := transformed.Load(), indexed.Load(); n != test.calls || m != test.calls {
				t.Errorf("%d calls of the transform and %d of the index function, want %d", n, m, test.calls)
			}
		})
	}
}

// TestTransformMayChangeType checks that a transform may return an object of another type.
func TestTransformMayChangeType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{}, withTransform(t, func(obj any) (any, error) {
			meta := obj.(*corev1.Pod).ObjectMeta
			return &metav1.PartialObjectMetadata{ObjectMeta: meta}, nil
		}))
		obj, _, _ := h.informer.GetStore().GetByKey("ns/a")
		if _, ok := obj.(*metav1.PartialObjectMetadata); !ok {
			t.Errorf("the store has a %T", obj)
		}
		server.Delete("ns/a")
		h.expectEvents("A a@2 initial", "D a@3")
	})
}

// TestFailedTransformAffectsOneObject checks that a transform that fails, panics or returns nil
// affects the new state of that object only, not the list.
func TestFailedTransformAffectsOneObject(t *testing.T) {
	for name, fail := range map[string]func() (any, error){
		"error": func() (any, error) { return nil, errRefused },
		"panic": func() (any, error) { panic("transform") },
		"nil":   func() (any, error) { return nil, nil },
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a", "bad")
			h := run(t, server, clientgo.Options{}, withTransform(t, func(obj any) (any, error) {
				if obj.(*corev1.Pod).Name == "bad" {
					return fail()
				}
				return obj, nil
			}))
			<-h.informer.HasSyncedChecker().Done()
			h.expectEvents("A a@2 initial")
		})
	}
}

// TestDeletionIsAppliedIfItsTransformFails deletes an object whose last state the transform
// refuses. The key that the transform would give it is then unknown. The object is deleted at once,
// with the last known state, also if the transform had renamed it.
func TestDeletionIsAppliedIfItsTransformFails(t *testing.T) {
	for name, prefix := range map[string]string{"same name": "", "renamed": "renamed-"} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a", "b")
			h := run(t, server, clientgo.Options{}, withTransform(t, func(obj any) (any, error) {
				pod := obj.(*corev1.Pod)
				if pod.Labels["transform"] == "fails" {
					return nil, errRefused
				}
				pod.Name = prefix + pod.Name
				return pod, nil
			}))
			h.expectEvents("A "+prefix+"a@2 initial", "A "+prefix+"b@3 initial")
			server.Update(cachetest.Pod("a", cachetest.WithLabel("transform", "fails")))
			server.Delete("ns/a")
			cachetest.Advance(time.Second)
			h.expectEvents("T ns/" + prefix + "a " + prefix + "a@2")
			server.Create(cachetest.Pod("a"))
			h.expectEvents("A " + prefix + "a@6")
		})
	}
}

// TestObjectOfAVersionWithSeveralChangesIsTransformedOnce sends an object at the version that the
// watch has reached, which is asked for before it is applied.
func TestObjectOfAVersionWithSeveralChangesIsTransformedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newCountingServer()
		informer := clientgo.Options{}.NewInformer(server, &corev1.Pod{}, 0, nil)
		if err := informer.SetTransform(func(obj any) (any, error) {
			pod := obj.(*corev1.Pod)
			metav1.SetMetaDataLabel(&pod.ObjectMeta, "transforms", pod.Labels["transforms"]+"x")
			return pod, nil
		}); err != nil {
			t.Fatal(err)
		}
		go informer.RunWithContext(t.Context())
		synctest.Wait()
		for _, name := range []string{"b", "c"} {
			server.send(watch.Added, cachetest.Pod(name, withVersion(6)))
		}
		synctest.Wait()
		for _, obj := range informer.GetStore().List() {
			if pod := obj.(*corev1.Pod); pod.Labels["transforms"] != "x" {
				t.Errorf("%s: transforms %q, want one", pod.Name, pod.Labels["transforms"])
			}
		}
		if keys := informer.GetStore().ListKeys(); !slices.Contains(keys, "ns/c") {
			t.Errorf("the store has %q", keys)
		}
	})
}
