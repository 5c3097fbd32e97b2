// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"strings"
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

// TestStoreChangesBeforeDelivery checks that the store has each change, and the version of a
// deletion, before the handler receives the event.
func TestStoreChangesBeforeDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		var informer clientcache.SharedIndexInformer
		seen := map[string]string{}
		check := func(verb string, obj any) {
			_, ok, _ := informer.GetIndexer().Get(obj)
			seen[verb] = fmt.Sprint(ok, " ", informer.GetIndexer().LastStoreSyncResourceVersion())
		}
		run(t, server, clientgo.Options{}, func(i clientcache.SharedIndexInformer) {
			informer = i
			withHandler(t, clientcache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { check("add", obj) },
				UpdateFunc: func(_, obj any) { check("update", obj) },
				DeleteFunc: func(obj any) { check("delete "+obj.(*corev1.Pod).ResourceVersion, obj) },
			})(i)
		})
		server.Update(cachetest.Pod("a", cachetest.WithLabel("v", "1")))
		synctest.Wait()
		server.Delete("ns/a")
		synctest.Wait()
		if got := fmt.Sprint(seen); got != "map[add:true 2 delete 4:false 4 update:true 3]" {
			t.Errorf("the handler saw the store with %s", got)
		}
	})
}

// TestEveryEventIsDelivered checks that a handler receives every event, however far it lags, unless
// the options ask for coalescing.
func TestEveryEventIsDelivered(t *testing.T) {
	const updates = 12_000
	for _, coalesces := range []bool{false, true} {
		cachetest.RunInBubble(t, fmt.Sprintf("CoalesceWhenBehind %v", coalesces), func(t *testing.T) {
			source := newScriptedServer()
			resume := make(chan struct{})
			var adds, updated atomic.Int64
			run(t, source, clientgo.Options{CoalesceWhenBehind: coalesces}, withHandler(t, clientcache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { <-resume; adds.Add(1) },
				UpdateFunc: func(any, any) { updated.Add(1) },
			}))
			source.send(watch.Added, cachetest.Pod("a", withVersion(10)))
			for i := range updates {
				source.send(watch.Modified, cachetest.Pod("a", withVersion(11+i)))
			}
			synctest.Wait()
			close(resume)
			synctest.Wait()
			if coalesced := updated.Load() < updates; adds.Load() != 1 || coalesced != coalesces {
				t.Errorf("received %d additions and %d of %d updates", adds.Load(), updated.Load(), updates)
			}
		})
	}
}

// TestQuickChangesAreSeparateEvents checks that changes of one object in quick succession are
// delivered as separate events.
func TestQuickChangesAreSeparateEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		h := run(t, server, clientgo.Options{})
		server.Create(cachetest.Pod("a"))
		server.Update(cachetest.Pod("a", cachetest.WithLabel("v", "1")))
		now := metav1.Now()
		terminating := cachetest.Pod("a", cachetest.WithLabel("v", "2"))
		terminating.DeletionTimestamp = &now
		server.Update(terminating)
		server.Delete("ns/a")
		h.expectEvents("A a@2", "U a@3", "U a@4", "D a@5")
	})
}

// TestNewUIDIsDeletionAndAddition checks that an object with a new UID is a deletion and an
// addition, whether a watch or a relist finds it.
func TestNewUIDIsDeletionAndAddition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		h := run(t, server, clientgo.Options{})
		h.expectEvents("A a@2 initial", "A b@3 initial")
		server.Delete("ns/a")
		server.Create(cachetest.Pod("a"))
		h.expectEvents("D a@4", "A a@5")
		server.relistAfter(func() {
			server.Delete("ns/b")
			server.Create(cachetest.Pod("b"))
		})
		h.expectEvents("T ns/b b@3", "A b@7")
	})
}

// TestRelistDeletionIsTombstone checks that a deletion found by a relist is a tombstone, passed by
// value, with the last known state. It precedes the relist's other events, none of which is
// initial.
func TestRelistDeletionIsTombstone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		h := run(t, server, clientgo.Options{})
		h.expectEvents("A a@2 initial", "A b@3 initial")
		server.relistAfter(func() {
			server.Create(cachetest.Pod("c"))
			server.Delete("ns/a")
			server.Update(cachetest.Pod("b", cachetest.WithLabel("v", "1")))
		})
		h.expectEvents("T ns/a a@2", "U b@6", "A c@4")
		if _, ok := h.last.(clientcache.DeletedFinalStateUnknown); !ok {
			t.Errorf("OnDelete received a %T, want a tombstone", h.last)
		}
		server.Delete("ns/b")
		h.expectEvents("D b@7")
		if deleted, ok := h.last.(*corev1.Pod); !ok || deleted.UID == "" {
			t.Errorf("OnDelete received %v, want a Pod with its UID", h.last)
		}
	})
}

// TestLateHandlerReceivesStoredObjects checks that a handler added while the informer runs receives
// the stored objects as an initial list, and then every change, while another handler blocks.
func TestLateHandlerReceivesStoredObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		resume := make(chan struct{})
		defer close(resume)
		h := run(t, server, clientgo.Options{})
		h.expectEvents("A a@2 initial")
		h.add(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-resume }})
		late := &recordingHandler{}
		h.add(late)
		server.Update(cachetest.Pod("a", cachetest.WithLabel("v", "1")))
		h.expectEvents("U a@3")
		if got := fmt.Sprint(late.take()); got != "[A a@2 initial U a@3]" {
			t.Errorf("the late handler received %s", got)
		}
	})
}

// TestResyncPeriodPerHandler checks that each handler has its own resync period, which is raised to
// a second if it is shorter, and that a resync calls no transform.
func TestResyncPeriodPerHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var transformed atomic.Int32
		least, short, none := &recordingHandler{}, &recordingHandler{}, &recordingHandler{}
		h := runWith(t, newServer("a"), clientgo.Options{}, clientcache.SharedIndexInformerOptions{ResyncPeriod: 3 * time.Minute}, func(informer clientcache.SharedIndexInformer) {
			withTransform(t, func(obj any) (any, error) {
				transformed.Add(1)
				return obj, nil
			})(informer)
			for handler, period := range map[*recordingHandler]time.Duration{least: time.Millisecond, short: time.Minute, none: 0} {
				if _, err := informer.AddEventHandlerWithResyncPeriod(handler, period); err != nil {
					t.Error(err)
				}
			}
		})
		cachetest.Advance(4*time.Minute - time.Second)
		for handler, want := range map[*recordingHandler]string{
			&h.recordingHandler: "[A a@2 initial U a@2]",
			least:               "[A a@2 initial" + strings.Repeat(" U a@2", 239) + "]",
			short:               "[A a@2 initial U a@2 U a@2 U a@2]",
			none:                "[A a@2 initial]",
		} {
			if got := fmt.Sprint(handler.take()); got != want {
				t.Errorf("a handler received %s, want %s", got, want)
			}
		}
		if got := transformed.Load(); got != 1 {
			t.Errorf("%d transforms, want 1", got)
		}
	})
}

// TestRelistUpdates checks that a relist emits updates for unchanged objects only if the options
// ask for them.
func TestRelistUpdates(t *testing.T) {
	for name, updates := range map[string]bool{"default": false, "RelistUpdates": true} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a")
			h := run(t, server, clientgo.Options{RelistUpdates: updates})
			h.expectEvents("A a@2 initial")
			server.relist()
			if updates {
				h.expectEvents("U a@2")
			} else {
				h.expectEvents()
			}
		})
	}
}
