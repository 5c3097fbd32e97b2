// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// unnamed returns a Pod without a name.
func unnamed(namespace, version string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, ResourceVersion: version, UID: types.UID("uid-" + version)}}
}

// newUnnamedServer returns a server whose list has Pods without a name.
func newUnnamedServer(pods ...corev1.Pod) *scriptedServer {
	server := newScriptedServer()
	server.ListFunc = func(metav1.ListOptions) (runtime.Object, error) {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: slices.Clone(pods)}, nil
	}
	return server
}

// unnamedTransform is a transform that changes nothing, but of which the informer does not know
// that.
func unnamedTransform(t *testing.T) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return withTransform(t, func(obj any) (any, error) { return obj, nil })
}

// TestObjectsWithoutNameAreStored lists, watches and deletes Pods without a name. Their keys are
// their namespace and a slash, or empty.
func TestObjectsWithoutNameAreStored(t *testing.T) {
	for _, packed := range []bool{false, true} {
		for _, transforms := range []bool{false, true} {
			cachetest.RunInBubble(t, fmt.Sprintf("packed=%v transform=%v", packed, transforms), func(t *testing.T) {
				named := *cachetest.Pod("b", withVersion(3))
				server := newUnnamedServer(unnamed("", "1"), unnamed("ns", "2"), named)
				var prepare []func(clientcache.SharedIndexInformer)
				if transforms {
					prepare = append(prepare, unnamedTransform(t))
				}
				h := run(t, server, clientgo.Options{Packed: packed}, prepare...)
				if !h.informer.HasSynced() {
					t.Fatal("not synced")
				}
				h.expectEvents("A @1 initial", "A @2 initial", "A b@3 initial")
				for key, version := range map[string]string{"": "1", "ns/": "2", "ns/b": "3"} {
					obj, exists, err := h.informer.GetStore().GetByKey(key)
					if err != nil || !exists || obj.(*corev1.Pod).ResourceVersion != version {
						t.Errorf("GetByKey(%q) = %v, %v, %v", key, obj, exists, err)
					}
				}
				for i, namespace := range []string{"", "ns"} {
					pod := unnamed(namespace, fmt.Sprint(10+i))
					pod.UID = types.UID(fmt.Sprintf("uid-%d", 1+i))
					server.send(watch.Modified, &pod)
				}
				h.expectEvents("U @10", "U @11")
				server.send(watch.Deleted, cachetest.Pod("c", withVersion(12)))
				h.expectEvents("D c@12")
				for i, namespace := range []string{"", "ns"} {
					pod := unnamed(namespace, fmt.Sprint(13+i))
					pod.UID = types.UID(fmt.Sprintf("uid-%d", 1+i))
					server.send(watch.Deleted, &pod)
				}
				h.expectEvents("D @13", "D @14")
			})
		}
	}
}

// TestObjectsWithoutNameShareAKey lists three Pods without a name. The last one is stored, whatever
// its version, and it is no duplicate.
func TestObjectsWithoutNameShareAKey(t *testing.T) {
	for _, namespace := range []string{"", "ns"} {
		synctest.Test(t, func(t *testing.T) {
			server := newUnnamedServer(unnamed(namespace, "1"), unnamed(namespace, "3"), unnamed(namespace, "2"))
			informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
			handler := &recordingHandler{}
			withHandler(t, handler)(informer)
			logged := runLogged(t, informer)
			synctest.Wait()
			if got := handler.take(); !slices.Equal(got, []string{"A @2 initial"}) {
				t.Errorf("events %q", got)
			}
			server.closeWatch()
			cachetest.Advance(2 * time.Minute)
			if got := handler.take(); len(got) > 0 {
				t.Errorf("events %q of another list", got)
			}
			if logged.count("more than once") > 0 {
				t.Error("the Pods are reported as duplicates")
			}
		})
	}
}

// TestDeletionOfAnotherObjectIsIgnored deletes an object that is not stored, and whose transform
// fails, so that its key is not known. The store keeps an object whose key is empty, or its own
// name.
func TestDeletionOfAnotherObjectIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newUnnamedServer(unnamed("", "1"), *cachetest.Pod("a", withVersion(2)))
		h := run(t, server, clientgo.Options{}, withTransform(t, func(obj any) (any, error) {
			pod := obj.(*corev1.Pod)
			if pod.Name == "b" || pod.Name == "c" {
				return nil, errRefused
			}
			if pod.Name == "a" {
				pod.Name = "b"
			}
			return pod, nil
		}))
		h.expectEvents("A @1 initial", "A b@2 initial")
		server.send(watch.Deleted, cachetest.Pod("b", withVersion(10)))
		server.send(watch.Deleted, cachetest.Pod("c", withVersion(11)))
		h.expectEvents()
		if keys := h.informer.GetStore().ListKeys(); len(keys) != 2 {
			t.Errorf("the store has the keys %q", keys)
		}
	})
}
