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
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// countingServer is a scriptedServer whose source counts versions. Events are sent by events.
type countingServer struct {
	*scriptedServer

	events chan watch.Event
}

func newCountingServer() countingServer {
	s := countingServer{newScriptedServer(), make(chan watch.Event)}
	s.ListFunc = func(metav1.ListOptions) (runtime.Object, error) {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*cachetest.Pod("a", withVersion(5))}}, nil
	}
	s.WatchFunc = func(metav1.ListOptions) (watch.Interface, error) { return watch.NewProxyWatcher(s.events), nil }
	return s
}

func (s countingServer) send(event watch.EventType, obj runtime.Object) {
	s.events <- watch.Event{Type: event, Object: obj}
}

// unstoredSources are sources of events, by whether they count versions.
func unstoredSources() map[string]func() (clientcache.ListerWatcher, func(watch.EventType, runtime.Object)) {
	return map[string]func() (clientcache.ListerWatcher, func(watch.EventType, runtime.Object)){
		"counted": func() (clientcache.ListerWatcher, func(watch.EventType, runtime.Object)) {
			s := newCountingServer()
			return s, s.send
		},
		"FakeWatcher": func() (clientcache.ListerWatcher, func(watch.EventType, runtime.Object)) {
			stream := watch.NewFake()
			return watchedPods(stream, cachetest.Pod("a", withVersion(5))), stream.Action
		},
		"RaceFreeFakeWatcher": func() (clientcache.ListerWatcher, func(watch.EventType, runtime.Object)) {
			stream := watch.NewRaceFreeFake()
			return watchedPods(stream, cachetest.Pod("a", withVersion(5))), stream.Action
		},
	}
}

// TestDeletionOfUnstoredObjectIsDelivered deletes objects that the informer does not hold, and
// compares with client-go what handlers receive: the object itself, transformed, after the version
// has advanced. A source that does not count versions may send the same deletion twice.
func TestDeletionOfUnstoredObjectIsDelivered(t *testing.T) {
	for name, source := range unstoredSources() {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed=%v", name, packed), func(t *testing.T) {
				var got, want []string
				synctest.Test(t, func(t *testing.T) {
					lw, send := source()
					informer := clientgo.Options{Packed: packed}.NewInformer(lw, &corev1.Pod{}, 0, nil)
					got = deleteUnstored(t, informer, send, name != "counted")
				})
				synctest.Test(t, func(t *testing.T) {
					lw, send := source()
					want = deleteUnstored(t, clientcache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil), send, name != "counted")
				})
				if !slices.Equal(got, want) || !slices.Contains(want, "plain: D b@6=yes *v1.Pod") {
					t.Errorf("the handlers received %q, client-go's %q", got, want)
				}
			})
		}
	}
}

// deleteUnstored runs an informer with a transform, sends it deletions, and returns what a handler,
// a FilteringResourceEventHandler and a handler that is added later have received.
func deleteUnstored(t *testing.T, informer clientcache.SharedIndexInformer, send func(watch.EventType, runtime.Object), twice bool) []string {
	t.Helper()
	withTransform(t, func(obj any) (any, error) {
		pod := obj.(*corev1.Pod).DeepCopy()
		pod.Labels = map[string]string{"transformed": "yes"}
		return pod, nil
	})(informer)
	var record [3]recorder[string]
	handler := func(i int, name string) clientcache.ResourceEventHandler {
		describe := func(verb string, obj any) {
			text := fmt.Sprintf("%s: %s %s", name, verb, nameAtVersion(obj))
			if pod, ok := obj.(*corev1.Pod); ok {
				text += "=" + pod.Labels["transformed"]
			}
			record[i].record(fmt.Sprintf("%s %T", text, obj))
		}
		return clientcache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { describe("A", obj) },
			UpdateFunc: func(_, obj any) { describe("U", obj) },
			DeleteFunc: func(obj any) { describe("D", obj) },
		}
	}
	add := func(handler clientcache.ResourceEventHandler) {
		withHandler(t, handler)(informer)
	}
	add(handler(0, "plain"))
	add(clientcache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return obj.(metav1.Object).GetName() != "c" },
		Handler:    handler(1, "filtering"),
	})
	stop := background(t, informer.RunWithContext)
	cachetest.Advance(2 * time.Second)
	pod := func(name string, version int) *corev1.Pod { return cachetest.Pod(name, withVersion(version)) }
	send(watch.Deleted, pod("b", 6))
	if twice {
		send(watch.Deleted, pod("b", 6))
	}
	send(watch.Added, pod("c", 7))
	send(watch.Deleted, pod("c", 8))
	send(watch.Deleted, pod("c", 9))
	synctest.Wait()
	add(handler(2, "late"))
	synctest.Wait()
	send(watch.Deleted, pod("a", 10))
	send(watch.Deleted, pod("d", 11))
	synctest.Wait()
	if got, keys := informer.LastSyncResourceVersion(), informer.GetStore().ListKeys(); got != "11" || len(keys) > 0 {
		t.Errorf("version %s, and the store has %q", got, keys)
	}
	stop()
	return slices.Concat(record[0].all(), record[1].all(), record[2].all())
}

// TestExplainedDeletionIsNotDelivered deletes objects that the informer does not hold, for a reason
// that it knows.
func TestExplainedDeletionIsNotDelivered(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		server := newCountingServer()
		h := run(t, server, clientgo.Options{Packed: packed, Filter: notHidden(t)}, withTransform(t, func(obj any) (any, error) {
			switch labels := obj.(*corev1.Pod).Labels; {
			case labels["skip"] != "":
				return nil, cache.ErrSkip
			case labels["broken"] != "":
				return nil, errRefused
			}
			return obj, nil
		}))
		cachetest.Advance(2 * time.Second)
		h.expectEvents("A a@5 initial")
		for _, event := range []watch.Event{
			{Type: watch.Deleted, Object: cachetest.Pod("replayed", withVersion(4))}, // which the list had seen
			{Type: watch.Added, Object: cachetest.Pod("refused", withVersion(6), hidden)},
			{Type: watch.Deleted, Object: cachetest.Pod("refused", withVersion(7), hidden)},
			{Type: watch.Added, Object: cachetest.Pod("skipped", withVersion(8), skipped)},
			{Type: watch.Deleted, Object: cachetest.Pod("skipped", withVersion(9), skipped)},
			{Type: watch.Added, Object: cachetest.Pod("failed", withVersion(10), broken)},
			{Type: watch.Deleted, Object: cachetest.Pod("failed", withVersion(11))},
		} {
			server.send(event.Type, event.Object)
		}
		h.expectEvents()
		server.send(watch.Modified, cachetest.Pod("a", withVersion(12), hidden))
		h.expectEvents("D a@12")
		server.send(watch.Deleted, cachetest.Pod("a", withVersion(13), hidden))
		h.expectEvents()
		server.send(watch.Deleted, cachetest.Pod("a", withVersion(14)))
		server.send(watch.Deleted, cachetest.Pod("a", withVersion(14)))
		h.expectEvents("D a@14")
	})
}
