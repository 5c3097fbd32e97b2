// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestRegistrationSyncsAfterOnAddReturns checks that a registration is synced once OnAdd has
// returned for the whole initial list, and that a slow handler delays neither the informer nor
// other handlers.
func TestRegistrationSyncsAfterOnAddReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{})
		slow := clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-steps }}
		var early clientcache.ResourceEventHandlerRegistration
		h := run(t, newServer("a", "b"), clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			early, _ = informer.AddEventHandler(slow)
		})
		late := h.add(slow)
		if !h.informer.HasSynced() || !h.handle.HasSynced() {
			t.Error("the informer or its other handler is not synced")
		}
		for range 4 {
			if early.HasSynced() && late.HasSynced() {
				t.Error("both registrations are synced before OnAdd has returned for each object")
			}
			steps <- struct{}{}
			synctest.Wait()
		}
		if !early.HasSynced() || !late.HasSynced() || !clientcache.IsDone(late.HasSyncedChecker()) {
			t.Error("a registration is not synced after OnAdd has returned for each object")
		}
		if got := late.HasSyncedChecker().Name(); !strings.HasPrefix(got, "SharedIndexInformer *v1.Pod + event handler ") {
			t.Errorf("the name of the checker is %q", got)
		}
	})
}

// TestRemoveEventHandler removes handlers while the informer runs, repeatedly, from another
// informer, and after it stopped.
func TestRemoveEventHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{})
		h.expectEvents("A a@2 initial")
		other := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		if err := other.RemoveEventHandler(h.handle); err != nil {
			t.Errorf("RemoveEventHandler of another informer returned %v", err)
		}
		server.Create(cachetest.Pod("b"))
		h.expectEvents("A b@3")
		for range 2 {
			if err := h.informer.RemoveEventHandler(h.handle); err != nil {
				t.Errorf("RemoveEventHandler returned %v", err)
			}
		}
		server.Create(cachetest.Pod("c"))
		h.expectEvents()
		if err := h.informer.RemoveEventHandler(nil); err == nil {
			t.Error("RemoveEventHandler accepted nil")
		}
		kept := h.add(&recordingHandler{})
		h.stop()
		for range 2 {
			if err := h.informer.RemoveEventHandler(kept); err != nil {
				t.Errorf("RemoveEventHandler after the informer stopped returned %v", err)
			}
		}
		_, err := h.informer.AddEventHandler(&recordingHandler{})
		if err == nil || !strings.HasSuffix(err.Error(), "was not added to shared informer because it has stopped already") {
			t.Errorf("AddEventHandler after the informer stopped returned %v", err)
		}
	})
}

// TestRemoveEventHandlerDoesNotWait checks that RemoveEventHandler does not wait for a call in
// progress, and that no call follows.
func TestRemoveEventHandlerDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, resume := 0, make(chan struct{})
		h := run(t, newServer("a", "b"), clientgo.Options{})
		handle := h.add(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			calls++
			<-resume
		}})
		synctest.Wait()
		if err := h.informer.RemoveEventHandler(handle); err != nil {
			t.Error(err)
		}
		close(resume)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
}

// TestSameHandlerAddedTwice checks that a handler that was added twice receives each event twice,
// until one registration is removed.
func TestSameHandlerAddedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{})
		second := h.add(&h.recordingHandler)
		h.expectEvents("A a@2 initial", "A a@2 initial")
		if err := h.informer.RemoveEventHandler(second); err != nil {
			t.Error(err)
		}
		server.Create(cachetest.Pod("b"))
		h.expectEvents("A b@3")
	})
}

// TestIncomparableHandlers adds handlers of a type that is no pointer and not comparable.
func TestIncomparableHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var added atomic.Int32
		handler := clientcache.ResourceEventHandlerDetailedFuncs{AddFunc: func(any, bool) { added.Add(1) }}
		h := run(t, newServer("a"), clientgo.Options{})
		for range 2 {
			handle := h.add(handler)
			synctest.Wait()
			if err := h.informer.RemoveEventHandler(handle); err != nil {
				t.Error(err)
			}
		}
		if got := added.Load(); got != 2 {
			t.Errorf("%d additions, want 2", got)
		}
		if _, err := h.informer.AddEventHandler(nil); err == nil {
			t.Error("AddEventHandler accepted nil")
		}
	})
}

// TestHandlersAddedAndRemovedConcurrently adds and removes handlers in many goroutines while an
// object changes, and then stops the informer.
func TestHandlersAddedAndRemovedConcurrently(t *testing.T) {
	server := newServer("a")
	informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for round := range 50 {
				handle, err := informer.AddEventHandler(&recordingHandler{})
				if err != nil {
					t.Errorf("worker %d, round %d: %v", worker, round, err)
					return
				}
				if round%2 == 0 {
					handle.HasSynced()
				}
				if err := informer.RemoveEventHandler(handle); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Go(func() {
		for i := range 200 {
			server.Update(cachetest.Pod("a", cachetest.WithLabel("v", fmt.Sprint(i))))
		}
	})
	workers.Wait()
	cancel()
	running.Wait()
}

// TestHandlerContinuesAfterPanic checks that a panic of a handler is logged with the handler's own
// logger and the informer's name and, if it does not end the process, that the next event is
// delivered a second later.
func TestHandlerContinuesAfterPanic(t *testing.T) {
	defer func(before bool) { utilruntime.ReallyCrash = before }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	synctest.Test(t, func(t *testing.T) {
		var logged strings.Builder
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged)))
		var called []time.Time
		h := run(t, newServer("a", "b"), clientgo.Options{})
		handle, err := h.informer.AddEventHandlerWithOptions(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			called = append(called, time.Now())
			if len(called) == 1 {
				panic("the handler's")
			}
		}}, clientcache.HandlerOptions{Logger: &logger})
		if err != nil {
			t.Fatal(err)
		}
		<-handle.HasSyncedChecker().Done()
		if len(called) != 2 || called[1].Sub(called[0]) != time.Second {
			t.Errorf("OnAdd was called at %v, want twice, a second apart", called)
		}
		if text := logged.String(); !strings.Contains(text, "the handler's") || !strings.Contains(text, "handlers_test.go") || !strings.Contains(text, `informer="Pod"`) {
			t.Errorf("the handler's logger has %q, want the panic, its stack and the informer", text)
		}
	})
}

// TestStoreWritesAreDelivered checks that an object which the program writes to the store of a
// running informer is delivered to handlers, once.
func TestStoreWritesAreDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{})
		h.expectEvents("A a@2 initial")
		newer := server.Create(cachetest.Pod("b"))
		h.expectEvents("A b@3")
		cachetest.WithLabel("v", "1")(newer)
		newer.ResourceVersion = "4"
		if err := h.informer.GetStore().Update(newer); err != nil {
			t.Fatal(err)
		}
		h.expectEvents("U b@4")
		server.Update(newer) // the watch delivers the same state
		h.expectEvents()
	})
}
