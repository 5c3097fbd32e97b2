package clientgo_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// Cases that client-go's own tests of its informer hold, as far as the facts do not.

// One handler may be registered several times: it is told as often, and goes one at a time.
func TestOneHandlerTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := run(t, server, clientgo.Options{})
		second, err := s.informer.AddEventHandler(&s.noted)
		if err != nil {
			t.Fatal(err)
		}
		s.expect("A a@2 initial", "A a@2 initial")
		if err := s.informer.RemoveEventHandler(second); err != nil {
			t.Error(err)
		}
		server.Create(pod("b"))
		s.expect("A b@3")
	})
}

// A handler that is no pointer, and cannot be compared, is a handler.
func TestHandlersThatCannotBeCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var added atomic.Int32
		handler := clientcache.ResourceEventHandlerDetailedFuncs{AddFunc: func(any, bool) { added.Add(1) }}
		s := run(t, newServer("a"), clientgo.Options{})
		for range 2 {
			handle, err := s.informer.AddEventHandler(handler)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := s.informer.RemoveEventHandler(handle); err != nil {
				t.Error(err)
			}
		}
		if got := added.Load(); got != 2 {
			t.Errorf("%d additions", got)
		}
		if _, err := s.informer.AddEventHandler(nil); err == nil {
			t.Error("a nil handler is no error")
		}
	})
}

// Handlers come and go from many goroutines, while things change and the informer stops.
func TestHandlersComeAndGo(t *testing.T) {
	server := newServer("a")
	informer := clientgo.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { informer.RunWithContext(ctx) })
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for round := range 50 {
				handle, err := informer.AddEventHandler(&noted{})
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
			server.Update(labelled(pod("a"), "v", fmt.Sprint(i)))
		}
	})
	workers.Wait()
	cancel()
	all.Wait()
}

// Of several Runs at once, one runs.
func TestRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		informer := clientgo.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		var returned atomic.Int32
		for range 5 {
			runs.Go(func() {
				informer.RunWithContext(ctx)
				returned.Add(1)
			})
		}
		synctest.Wait()
		if got := returned.Load(); got != 4 || informer.IsStopped() || server.verbs() != "W" {
			t.Errorf("%d of 5 have returned, requests %q", got, server.verbs())
		}
		cancel()
		runs.Wait()
	})
}

// client-go's helpers for waiting take our informers and handles.
func TestWaitingHelpers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := run(t, podsOf(fake.NewClientset(pod("a"))), clientgo.Options{})
		if !clientcache.WaitForCacheSync(t.Context().Done(), s.informer.HasSynced, s.handle.HasSynced) {
			t.Error("WaitForCacheSync")
		}
		if !clientcache.WaitForNamedCacheSyncWithContext(t.Context(), s.informer.HasSynced) {
			t.Error("WaitForNamedCacheSyncWithContext")
		}
		if !clientcache.WaitFor(t.Context(), "the Pods", s.informer.HasSyncedChecker(), s.handle.HasSyncedChecker()) {
			t.Error("WaitFor")
		}
	})
}

// GetController's Run does nothing, as ever.
func TestTheControllerIsIdle(t *testing.T) {
	informer := clientgo.NewSharedIndexInformer(newServer(), &corev1.Pod{}, 0, nil)
	controller := informer.GetController()
	controller.RunWithContext(t.Context())
	controller.Run(nil)
	if controller.HasSynced() || clientcache.IsDone(controller.HasSyncedChecker()) || controller.LastSyncResourceVersion() != "" {
		t.Error("it has done something")
	}
}

// What a program writes into the store of a running informer is there, and is told.
func TestWritesIntoTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := run(t, server, clientgo.Options{})
		s.expect("A a@2 initial")
		newer := server.Create(pod("b"))
		s.expect("A b@3")
		newer = labelled(newer, "v", "1")
		newer.ResourceVersion = "4"
		if err := s.informer.GetStore().Update(newer); err != nil {
			t.Fatal(err)
		}
		s.expect("U b@4")
		server.Update(newer) // the same state comes by the watch
		s.expect()
	})
}

// An informer without an example takes what comes.
func TestNoExample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		s := &scene{t: t, informer: clientgo.NewSharedIndexInformer(server, nil, 0, nil)}
		s.start()
		if keys := s.informer.GetStore().ListKeys(); len(keys) != 1 {
			t.Errorf("the store has %q", keys)
		}
	})
}

// Without a ListerWatcher it says so, and retries, and stops.
func TestNoListerWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs failures
		s := run(t, nil, clientgo.Options{}, errs.listen(t))
		if len(errs.all()) == 0 {
			t.Error("no error")
		}
		s.stop()
	})
}

// The options that have a form of their own win over the informer's.
func TestNewInformerOfOptions(t *testing.T) {
	server := newServer("a")
	options := clientgo.Options{Indexers: clientcache.Indexers{"own": byName}}
	for name, given := range map[string]clientcache.Indexers{"own": nil, "given": {"given": byName}} {
		informer := options.NewInformer(server, &corev1.Pod{}, 0, given)
		if informer.GetIndexer().GetIndexers()[name] == nil || len(informer.GetIndexer().GetIndexers()) != 1 {
			t.Errorf("%s: it has %v", name, informer.GetIndexer().GetIndexers())
		}
	}
}
