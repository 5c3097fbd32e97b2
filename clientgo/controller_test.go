// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// newControllerFunc is client-go's NewInformerWithOptions or this package's.
type newControllerFunc func(clientcache.InformerOptions) (clientcache.Store, clientcache.Controller)

// forEachController runs a test in a bubble with client-go's constructor and with this package's.
func forEachController(t *testing.T, test func(t *testing.T, newController newControllerFunc)) {
	t.Helper()
	for name, newController := range map[string]newControllerFunc{
		"client-go": clientcache.NewInformerWithOptions,
		"clientgo":  clientgo.With(clientgo.Options{}).NewInformerWithOptions,
		"packed":    clientgo.With(clientgo.Options{Packed: true}).NewInformerWithOptions,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newController) })
		})
	}
}

// controllerHarness is a running controller and its handler.
type controllerHarness struct {
	recordingHandler
	clientcache.Controller

	store clientcache.Store
	stop  func() // stops the controller and waits until Run has returned
}

// runController runs a controller of Pods until the end of the test.
func runController(t *testing.T, newController newControllerFunc, options clientcache.InformerOptions) *controllerHarness {
	t.Helper()
	h := &controllerHarness{}
	options.ObjectType = &corev1.Pod{}
	if options.Handler == nil {
		options.Handler = &h.recordingHandler
	}
	h.store, h.Controller = newController(options)
	h.stop = background(t, h.RunWithContext)
	synctest.Wait()
	return h
}

func (h *controllerHarness) expectEvents(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := h.take(); !slices.Equal(got, want) {
		t.Errorf("the handler received %q, want %q", got, want)
	}
}

// TestControllerFillsStoreAndCallsHandler checks the events, the store and the version for a list,
// each type of watch event, and a deletion found by a relist.
func TestControllerFillsStoreAndCallsHandler(t *testing.T) {
	forEachController(t, func(t *testing.T, newController newControllerFunc) {
		server := newServer("a")
		h := runController(t, newController, clientcache.InformerOptions{ListerWatcher: server})
		h.expectEvents(t, "A a@2 initial")
		server.Create(cachetest.Pod("b"))
		server.Update(cachetest.Pod("a"))
		h.expectEvents(t, "A b@3", "U a@4")
		server.Delete("ns/a")
		h.expectEvents(t, "D a@5")
		if _, exists, err := h.store.GetByKey("ns/b"); !exists || err != nil || len(h.store.List()) != 1 || h.LastSyncResourceVersion() != "5" {
			t.Errorf("the store has %v at version %s: %v", h.store.ListKeys(), h.LastSyncResourceVersion(), err)
		}
		server.relistAfter(func() { server.Delete("ns/b") })
		h.expectEvents(t, "T ns/b b@3")
		h.stop()
		server.Create(cachetest.Pod("c"))
		h.expectEvents(t)
	})
}

// TestControllerOfFakes runs on a FakeControllerSource, and on a fake clientset.
func TestControllerOfFakes(t *testing.T) {
	forEachController(t, func(t *testing.T, newController newControllerFunc) {
		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown) // after the end of the run
		source.Add(cachetest.Pod("a"))
		h := runController(t, newController, clientcache.InformerOptions{ListerWatcher: source})
		source.Modify(cachetest.Pod("a"))
		source.Delete(cachetest.Pod("a"))
		h.expectEvents(t, "A a@1 initial", "U a@2", "D a@3")

		client := clientfake.NewClientset(cachetest.Pod("a"))
		h = runController(t, newController, clientcache.InformerOptions{ListerWatcher: podsOf(client)})
		if err := client.CoreV1().Pods("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.expectEvents(t, "A a initial", "D a")
	})
}

// TestControllerHasSyncedAfterDelivery checks that a controller has synced once the handler has
// returned for the last object of the initial list.
func TestControllerHasSyncedAfterDelivery(t *testing.T) {
	forEachController(t, func(t *testing.T, newController newControllerFunc) {
		resume := make(chan struct{})
		h := runController(t, newController, clientcache.InformerOptions{
			ListerWatcher: newServer("a", "b"),
			Handler:       clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-resume }},
		})
		checker := h.HasSyncedChecker()
		for range 2 {
			synctest.Wait()
			select {
			case <-checker.Done():
				t.Error("synced before the handler has returned for the initial list")
			default:
			}
			resume <- struct{}{}
		}
		<-checker.Done()
		if !h.HasSynced() || checker.Name() == "" || len(h.store.List()) != 2 {
			t.Errorf("HasSynced returned %v; the store has %v", h.HasSynced(), h.store.ListKeys())
		}
		empty := runController(t, newController, clientcache.InformerOptions{ListerWatcher: newServer()})
		if !empty.HasSynced() {
			t.Error("not synced with an empty collection")
		}
	})
}

// TestControllerOptions checks the indexers, the transform, the resync period, which may be short,
// and the least timeout of watches.
func TestControllerOptions(t *testing.T) {
	forEachController(t, func(t *testing.T, newController newControllerFunc) {
		server := newServer("a")
		h := runController(t, newController, clientcache.InformerOptions{
			ListerWatcher: server,
			Indexers:      clientcache.Indexers{"name": byName},
			Transform: func(obj any) (any, error) {
				obj.(*corev1.Pod).Name = "new-a" // client-go calls it twice for a WatchList
				return obj, nil
			},
			ResyncPeriod:    100 * time.Millisecond,
			MinWatchTimeout: time.Hour,
		})
		h.expectEvents(t, "A new-a@2 initial")
		if found, err := h.store.(clientcache.Indexer).ByIndex("name", "new-a"); err != nil || len(found) != 1 {
			t.Errorf("the index has %v, %v", found, err)
		}
		<-time.After(310 * time.Millisecond)
		h.expectEvents(t, "U new-a@2", "U new-a@2", "U new-a@2")
		requests := server.Requests()
		if timeout := *requests[len(requests)-1].Options.TimeoutSeconds; timeout < 3600 || timeout > 7200 {
			t.Errorf("timeout %d s, want one or two hours", timeout)
		}
	})
}

// TestControllerConstructors checks the constructors without options.
func TestControllerConstructors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, lw, handler := clientgo.With(clientgo.Options{}), newServer("a"), &recordingHandler{}
		rename := func(obj any) (any, error) { return cachetest.Pod("new-" + obj.(*corev1.Pod).Name), nil }
		indexers := clientcache.Indexers{"name": byName}
		var stores [4]clientcache.Store
		var controllers [4]clientcache.Controller
		stores[0], controllers[0] = c.NewInformer(lw, &corev1.Pod{}, 0, handler)
		stores[1], controllers[1] = c.NewIndexerInformer(lw, &corev1.Pod{}, 0, handler, indexers)
		stores[2], controllers[2] = c.NewTransformingInformer(lw, &corev1.Pod{}, 0, nil, rename)
		stores[3], controllers[3] = c.NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, handler, indexers, rename)
		stop := make(chan struct{})
		for i, controller := range controllers {
			go controller.Run(stop)
			<-controller.HasSyncedChecker().Done()
			name := []string{"a", "a", "new-a", "new-a"}[i]
			if keys := stores[i].ListKeys(); !slices.Equal(keys, []string{"ns/" + name}) {
				t.Errorf("store %d has %q", i, keys)
			}
			found, err := stores[i].(clientcache.Indexer).ByIndex("name", name)
			if withIndex := i%2 == 1; withIndex != (err == nil && len(found) == 1) {
				t.Errorf("the index of store %d has %v, %v", i, found, err)
			}
		}
		close(stop)
		synctest.Wait()
		if got := handler.take(); !slices.Equal(got, []string{"A a@2 initial", "A a@2 initial", "A new-a initial"}) {
			t.Errorf("the handler received %q", got)
		}
	})
}

// TestControllerRunsOnce checks that a second Run returns at once, and that Run logs to the logger
// of the options.
func TestControllerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := &logBuffer{}
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged)))
		_, c := clientgo.With(clientgo.Options{}).NewInformerWithOptions(clientcache.InformerOptions{Logger: &logger, ObjectType: &corev1.Pod{}})
		stop := make(chan struct{})
		go c.Run(stop)
		synctest.Wait()
		c.Run(stop) // returns
		close(stop)
		synctest.Wait()
		if log := logged.log.String(); !strings.Contains(log, "the ListerWatcher is nil") || !strings.Contains(log, "started before") || !strings.Contains(log, `informer="Pod"`) {
			t.Errorf("the log is\n%s", log)
		}
	})
}
