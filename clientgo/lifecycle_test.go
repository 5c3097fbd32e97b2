// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestNewInformerMakesNoRequest checks that making an informer, which programs do with locks held,
// makes no request and starts no goroutine (the bubble would wait for it), and that the informer
// does not keep the example.
func TestNewInformerMakesNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		informer := plain.NewSharedIndexInformer(server, example, time.Hour, clientcache.Indexers{"name": byName})
		name := informer.HasSyncedChecker().Name()
		example.SetKind("Node")
		withHandler(t, &recordingHandler{})(informer)
		if got := server.Requests(); len(got) != 0 {
			t.Errorf("requests: %v", got)
		}
		if name != "SharedIndexInformer *unstructured.Unstructured" {
			t.Errorf("the name is %q", name)
		}
	})
}

// TestExampleStatesKind checks that the informer watches the kind of an unstructured example.
func TestExampleStatesKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		server := fake.NewListerWatcher(example)
		first := example.DeepCopy()
		first.SetName("a")
		server.Create(first)
		informer := plain.NewSharedIndexInformer(&clientcache.ListWatch{ListWithContextFunc: server.List, WatchFuncWithContext: server.Watch}, example, 0, nil)
		example.SetKind("Node")
		runInformer(t, informer)
		if obj, ok, _ := informer.GetStore().GetByKey("a"); !ok || obj.(*unstructured.Unstructured).GetKind() != "Pod" {
			t.Errorf("the store has %v, %v, want a Pod", obj, ok)
		}
	})
}

// TestSettersFailOnceStarted checks that setters return an error once the informer was started, and
// that SetTransform accepts nil before.
func TestSettersFailOnceStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		withTransform(t, nil)(informer)
		if err := informer.SetWatchErrorHandler(func(*clientcache.Reflector, error) {}); err != nil {
			t.Error(err)
		}
		runInformer(t, informer)
		for name, err := range map[string]error{
			"SetTransform":                    informer.SetTransform(nil),
			"SetWatchErrorHandler":            informer.SetWatchErrorHandler(nil),
			"SetWatchErrorHandlerWithContext": informer.SetWatchErrorHandlerWithContext(nil),
		} {
			if err == nil || err.Error() != "informer has already started" {
				t.Errorf("%s after the start returned %v", name, err)
			}
		}
	})
}

// TestStoreTakenBeforeRun checks that GetStore and GetIndexer return before Run the store that Run
// fills, and that it remains readable afterwards.
func TestStoreTakenBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		store, indexer := informer.GetStore(), informer.GetIndexer()
		if len(store.List()) != 0 || informer.LastSyncResourceVersion() != "" {
			t.Error("the informer has objects or a version before Run")
		}
		h := runInformer(t, informer)
		h.stop()
		if len(store.List()) != 1 || len(indexer.ListKeys()) != 1 {
			t.Error("the store taken before Run has no objects")
		}
		if informer.LastSyncResourceVersion() != "2" || informer.GetController().LastSyncResourceVersion() != "2" {
			t.Errorf("the last version is %q, want 2", informer.LastSyncResourceVersion())
		}
	})
}

// TestAddIndexersUntilStopped adds indexes before Run, before the sync and after it. When
// AddIndexers returns, the index contains the stored objects. A name that is taken, and a stopped
// informer, are errors.
func TestAddIndexersUntilStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		hold := make(chan struct{})
		server.InjectWatchFault(1, fake.Fault{Hold: hold})
		h := runWith(t, server, clientgo.Options{}, clientcache.SharedIndexInformerOptions{Indexers: clientcache.Indexers{"first": byName}}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.AddIndexers(clientcache.Indexers{"before": byName}); err != nil {
				t.Error(err)
			}
		})
		if err := h.informer.AddIndexers(clientcache.Indexers{"waiting": byName}); err != nil || h.informer.HasSynced() {
			t.Errorf("AddIndexers before the sync returned %v, synced %v", err, h.informer.HasSynced())
		}
		close(hold)
		<-h.informer.HasSyncedChecker().Done()
		if err := h.informer.AddIndexers(clientcache.Indexers{"after": byName}); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"first", "before", "waiting", "after"} {
			if found, err := h.informer.GetIndexer().ByIndex(name, "a"); err != nil || len(found) != 1 {
				t.Errorf("index %q has %v, %v", name, found, err)
			}
		}
		if err := h.informer.AddIndexers(clientcache.Indexers{"new": byName, "first": byName}); err == nil {
			t.Error("AddIndexers accepted a name that is taken")
		} else if h.informer.GetIndexer().GetIndexers()["new"] != nil {
			t.Error("AddIndexers added some indexes although it failed")
		}
		h.stop()
		if err := h.informer.AddIndexers(clientcache.Indexers{"late": byName}); err == nil {
			t.Error("AddIndexers accepted an index after the informer stopped")
		}
	})
}

// TestRunReturnsWhileRequestHangs checks that Run returns although a request ignores its context,
// and that a second Run returns at once.
func TestRunReturnsWhileRequestHangs(t *testing.T) {
	for name, watchList := range map[string]bool{"list": false, "watch": true} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
			synctest.Test(t, func(t *testing.T) {
				resume := make(chan struct{})
				defer close(resume)
				hang := func() error { <-resume; return errRefused }
				h := run(t, &clientcache.ListWatch{
					ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return nil, hang() },
					WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, hang() },
				}, clientgo.Options{})
				h.informer.Run(make(chan struct{}))
				h.stop()
				if !h.informer.IsStopped() || h.informer.HasSynced() {
					t.Errorf("stopped %v, synced %v", h.informer.IsStopped(), h.informer.HasSynced())
				}
			})
		})
	}
}

// TestRunWaitsForHandlers checks that Run waits without limit for a handler's call.
func TestRunWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		var returned atomic.Bool
		h := run(t, newServer("a"), clientgo.Options{}, withHandler(t, clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			<-resume
			returned.Store(true)
		}}))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			h.stop()
		}()
		<-time.After(time.Hour)
		if !h.informer.IsStopped() {
			t.Error("IsStopped reports false after the context ended")
		}
		select {
		case <-stopped:
			t.Error("Run returned during a handler's call")
		default:
		}
		close(resume)
		<-stopped
		if !returned.Load() {
			t.Error("Run returned before the handler")
		}
	})
}

// TestRunWithClosedStopChannel checks that Run with a closed stop channel returns, and that the
// informer is stopped then.
func TestRunWithClosedStopChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		if informer.IsStopped() {
			t.Error("IsStopped reports true before Run")
		}
		stop := make(chan struct{})
		close(stop)
		informer.Run(stop)
		if !informer.IsStopped() || informer.HasSynced() {
			t.Error("IsStopped or HasSynced is wrong after Run")
		}
	})
}

// TestHasSyncedMeansStoreAndIndexesAreFilled checks that the store and its indexes hold the whole
// initial list once HasSynced reports true.
func TestHasSyncedMeansStoreAndIndexesAreFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b", "c")
		h := &harness{t: t, informer: plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, clientcache.Indexers{"name": byName})}
		checked := make(chan struct{})
		go func() {
			defer close(checked)
			<-h.informer.HasSyncedChecker().Done()
			indexer := h.informer.GetIndexer()
			if got := len(indexer.ListIndexFuncValues("name")); got != 3 || len(indexer.List()) != 3 || !h.informer.HasSynced() || !h.informer.GetController().HasSynced() {
				t.Errorf("synced with %d values and %d objects", got, len(indexer.List()))
			}
		}()
		h.start()
		<-checked
	})
}

// TestInformerRunsOnce calls Run several times at once: one runs the informer, the others return.
func TestInformerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
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
			t.Errorf("%d of 5 calls returned, requests %q, want 4 and \"W\"", got, server.verbs())
		}
		cancel()
		runs.Wait()
	})
}

// TestControllerRunDoesNothing checks that GetController's Run does nothing, as in client-go.
func TestControllerRunDoesNothing(t *testing.T) {
	informer := plain.NewSharedIndexInformer(newServer(), &corev1.Pod{}, 0, nil)
	controller := informer.GetController()
	controller.RunWithContext(t.Context())
	controller.Run(nil)
	if controller.HasSynced() || clientcache.IsDone(controller.HasSyncedChecker()) || controller.LastSyncResourceVersion() != "" {
		t.Error("the informer has synced")
	}
}

// TestNilExampleAcceptsAnyType checks that an informer without an example stores what the server
// sends.
func TestNilExampleAcceptsAnyType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := runInformer(t, plain.NewSharedIndexInformer(server, nil, 0, nil))
		if keys := h.informer.GetStore().ListKeys(); len(keys) != 1 {
			t.Errorf("the store has the keys %q, want one", keys)
		}
	})
}

// TestNilListerWatcherIsReported checks that an informer without a ListerWatcher reports an error
// and stops when asked.
func TestNilListerWatcherIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs errorRecorder
		h := run(t, nil, clientgo.Options{}, errs.handle(t))
		if len(errs.all()) == 0 {
			t.Error("no error was reported")
		}
		h.stop()
	})
}

// TestWaitHelpersOfClientGo passes informers and registrations to the functions of client-go that
// wait for a sync.
func TestWaitHelpersOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := run(t, podsOf(clientfake.NewClientset(cachetest.Pod("a"))), clientgo.Options{})
		if !clientcache.WaitForCacheSync(t.Context().Done(), h.informer.HasSynced, h.handle.HasSynced) {
			t.Error("WaitForCacheSync reports false")
		}
		if !clientcache.WaitForNamedCacheSyncWithContext(t.Context(), h.informer.HasSynced) {
			t.Error("WaitForNamedCacheSyncWithContext reports false")
		}
		if !clientcache.WaitFor(t.Context(), "the Pods", h.informer.HasSyncedChecker(), h.handle.HasSyncedChecker()) {
			t.Error("WaitFor reports false")
		}
	})
}
