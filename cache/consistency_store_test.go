// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// ownWrites is a ConsistencyStore whose requeued keys are recorded.
type ownWrites struct {
	*cache.ConsistencyStore[string]
	t        *testing.T
	mu       sync.Mutex // guards requeued
	requeued []string
}

func newOwnWrites(t *testing.T) *ownWrites {
	w := &ownWrites{t: t}
	w.ConsistencyStore = cache.NewConsistencyStore(func(key string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requeued = append(w.requeued, key)
	})
	return w
}

// expectWaiting checks that a key is not ready, why, and that it has not been requeued.
func (w *ownWrites) expectWaiting(key, why string) {
	w.t.Helper()
	synctest.Wait()
	if err := w.EnsureReady(key); !cachetest.ErrorContains(why)(err) {
		w.t.Errorf("EnsureReady(%q) returned %v, want %q", key, err, why)
	}
	synctest.Wait()
	w.expectRequeued("")
}

// expectReady checks that a key was requeued once, and is ready.
func (w *ownWrites) expectReady(key, after string) {
	w.t.Helper()
	synctest.Wait()
	w.expectRequeued(key)
	if err := w.EnsureReady(key); err != nil {
		w.t.Errorf("after %s: EnsureReady returned %v", after, err)
	}
}

// expectRequeued checks the keys that were requeued since its last call.
func (w *ownWrites) expectRequeued(want string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.requeued, " "); got != want {
		w.t.Errorf("requeued %q, want %q", got, want)
	}
	w.requeued = nil
}

func TestKeyWaitsForItsLastWrite(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{Name: "pods"}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		w.WroteAt("owner", s, cachetest.Pod("e", cachetest.WithVersion("6")))
		w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
		w.expectWaiting("owner", `pods is at resourceVersion "4", not yet at 6`)
		w.expectWaiting("owner", "pods is at")
		if err := w.EnsureReady("other"); err != nil {
			t.Errorf("another key: %v", err)
		}
		s.Create(cachetest.Pod("d"))
		w.expectWaiting("owner", `at resourceVersion "5", not yet at 6`)
		s.Create(cachetest.Pod("e"))
		w.expectReady("owner", "both writes")
		w.WroteAt("owner", s, cachetest.Pod("e", cachetest.WithVersion("6")))
		if err := w.EnsureReady("owner"); err != nil {
			t.Errorf("a write that was received before it was noted: %v", err)
		}
		w.expectRequeued("")
	})
}

// A write that is noted while its key waits is waited for, too.
func TestWaitingKeyWaitsForFurtherWrites(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
		w.expectWaiting("owner", "not yet at 5")
		w.WroteAt("owner", s, cachetest.Pod("e", cachetest.WithVersion("6")))
		s.Create(cachetest.Pod("d"))
		w.expectWaiting("owner", "not yet at 6")
		s.Create(cachetest.Pod("e"))
		w.expectReady("owner", "the later write")
	})
}

// The informer relists, and is at a later version than that of the write, whose object is gone.
func TestRelistSupersedesWrite(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
		w.expectWaiting("owner", "not yet at 5")
		s.Expire()
		s.Create(cachetest.Pod("d"))
		s.Harness.Delete("ns/d")
		s.SkipVersions(5)
		cachetest.Advance(2 * time.Second)
		w.expectReady("owner", "a relist")
	})
}

func TestDeletionIsReceivedOnceTheObjectIsGoneOrTerminating(t *testing.T) {
	for name, end := range map[string]func(s *sharedHarness, pod *corev1.Pod){
		"gone": func(s *sharedHarness, _ *corev1.Pod) { s.Harness.Delete("ns/a") },
		"terminating": func(s *sharedHarness, pod *corev1.Pod) {
			pod = pod.DeepCopy()
			pod.DeletionTimestamp = new(metav1.Now())
			pod.Finalizers = []string{"example.com/f"}
			s.Update(pod)
		},
		"recreated": func(s *sharedHarness, _ *corev1.Pod) {
			s.Harness.Delete("ns/a")
			s.Create(cachetest.Pod("a"))
		},
	} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed: %t", name, packed), func(t *testing.T) {
				runShared(t, cache.InformerOptions[*corev1.Pod]{Name: "pods", Packed: packed}, func(s *sharedHarness) {
					w := newOwnWrites(t)
					pod, _ := s.SharedInformer.Store().GetByKey("ns/a")
					w.Deleted("owner", s, pod)
					w.expectWaiting("owner", `pods still holds "ns/a"`)
					s.Update(cachetest.Pod("a")) // by another program, before the deletion
					s.Update(cachetest.Pod("b"))
					w.expectWaiting("owner", `pods still holds "ns/a"`)
					end(s, pod)
					w.expectReady("owner", "the deletion")
				})
			})
		}
	}
}

// An object is created and deleted before the informer receives either.
func TestDeletionOfUnreceivedObjectWaitsForItsVersion(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		w.Deleted("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
		w.expectWaiting("owner", "not yet at 5")
		created := s.Create(cachetest.Pod("d"))
		w.WroteAt("owner", s, created) // a late finalizer, say
		w.expectWaiting("owner", `still holds "ns/d"`)
		s.Harness.Delete("ns/d")
		w.expectReady("owner", "the deletion")
	})
}

// In an informer with scopes, all writes of an object are one. An update of its finalizers does not
// replace the deletion.
func TestLateUpdateOfDeletedObject(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		w := newOwnWrites(i.t)
		created := i.server.Create(configMap("a/1"))
		synctest.Wait()
		w.Deleted("owner", i, created)
		w.WroteAt("owner", i, i.server.Update(configMap("a/1")))
		w.expectWaiting("owner", `still holds "a/1"`)
		i.server.Delete("a/1")
		w.expectReady("owner", "the deletion")
	}, namespaces("a")...)
}

// An update makes the informer's selector refuse the object, of which the server then sends a
// DELETED event with the update's version.
func TestWriteThatLeavesTheSelectorIsReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.Pod{})
		pod := server.Create(cachetest.Pod("a", cachetest.WithLabel("app", "x")))
		lw := &cache.ListWatch{
			ListFunc:  cachetest.WithSelector("app=x", server.List),
			WatchFunc: cachetest.WithSelector("app=x", server.Watch),
		}
		pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		start(t, pods)
		synctest.Wait()
		w := newOwnWrites(t)
		written := pod.DeepCopy()
		written.Labels, written.ResourceVersion = nil, "3"
		w.WroteAt("owner", pods, written)
		w.expectWaiting("owner", "not yet at 3")
		server.Update(written)
		w.expectReady("owner", "the update")
		if pods.Store().Len() != 0 {
			t.Errorf("the store has %v", pods.Store().ListKeys())
		}
	})
}

// The children of an owner are of two resources.
func TestKeyWaitsForAllInformers(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{Name: "pods"}, func(s *sharedHarness) {
		server := fake.NewListerWatcher(&corev1.ConfigMap{})
		configMaps := cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Name: "configmaps"})
		start(s.T, configMaps)
		synctest.Wait()
		w := newOwnWrites(t)
		written := configMap("ns/d")
		written.ResourceVersion = "3"
		w.WroteAt("owner", configMaps, written)
		w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
		server.Create(configMap("ns/a"))
		server.Create(configMap("ns/d"))
		w.expectWaiting("owner", "pods is at")
		s.Create(cachetest.Pod("d"))
		w.expectReady("owner", "both")
	})
}

// An informer with scopes reaches the version in the scope of the object, while other scopes
// reach it with a bookmark.
func TestWriteIsReceivedInItsScope(t *testing.T) {
	runScoped(t, func(i *scopedInformer) {
		w := newOwnWrites(i.t)
		for key, version := range map[string]string{"a/1": "2", "b/1": "3", "c/1": "9"} { // c is in no scope
			written := configMap(key)
			written.ResourceVersion = version
			w.WroteAt(key, i, written)
			w.WroteAt("all", i, written)
		}
		if err := w.EnsureReady("c/1"); err != nil {
			i.t.Error(err)
		}
		w.expectWaiting("b/1", "not yet at 3")
		i.server.Create(configMap("a/1"))
		synctest.Wait()
		if err := w.EnsureReady("a/1"); err != nil {
			i.t.Error(err)
		}
		w.expectWaiting("all", "not yet at 3")
		i.server.Create(configMap("b/1"))
		synctest.Wait()
		w.mu.Lock()
		requeued := len(w.requeued)
		w.mu.Unlock()
		if requeued != 2 || w.EnsureReady("b/1") != nil || w.EnsureReady("all") != nil {
			i.t.Errorf("requeued %d keys", requeued)
		}
	}, namespaces("a", "b")...)
}

// A write that cannot be waited for delays nothing. The first one is logged.
func TestWriteThatCannotBeWaitedForIsLogged(t *testing.T) {
	logger, log := bufferedLogger(0)
	runShared(t, cache.InformerOptions[*corev1.Pod]{Name: "pods", Logger: logger}, func(s *sharedHarness) {
		invalid := cache.NewSharedInformer[*corev1.Pod](nil, nil, cache.InformerOptions[*corev1.Pod]{Logger: logger})
		for want, note := range map[string]func(w *ownWrites){
			"no resourceVersion": func(w *ownWrites) { w.WroteAt("owner", s, cachetest.Pod("a")) },
			"not well formed":    func(w *ownWrites) { w.WroteAt("owner", s, cachetest.Pod("a", cachetest.WithVersion("x"))) },
			"name is empty":      func(w *ownWrites) { w.Deleted("owner", s, cachetest.Pod("")) },
			"object is nil":      func(w *ownWrites) { w.WroteAt("owner", s, (*corev1.Pod)(nil)) },
			"ListerWatcher":      func(w *ownWrites) { w.Deleted("owner", invalid, cachetest.Pod("a", cachetest.WithVersion("9"))) },
		} {
			w, before := newOwnWrites(t), len(log())
			note(w)
			note(w)
			if err := w.EnsureReady("owner"); err != nil {
				t.Errorf("%s: %v", want, err)
			}
			if logged := log()[before:]; strings.Count(logged, "Cannot wait") != 1 || !strings.Contains(logged, want) || !strings.Contains(logged, "owner") {
				t.Errorf("want %q once, logged %q", want, logged)
			}
		}
	})
}

// A deletion of an object whose version is no number is received once the object is gone.
func TestDeletionAtOpaqueVersionIsReceived(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		w.Deleted("owner", s, cachetest.Pod("a", cachetest.WithVersion("x")))
		w.expectWaiting("owner", `still holds "ns/a"`)
		s.Harness.Delete("ns/a")
		w.expectReady("owner", "the deletion")
	})
}

// A restore of etcd undoes a write. The key waits until the informer has been up to date for five
// minutes without it.
func TestWriteUndoneByRestoreIsGivenUp(t *testing.T) {
	logger, log := bufferedLogger(0)
	runShared(t, cache.InformerOptions[*corev1.Pod]{Logger: logger}, func(s *sharedHarness) {
		s.BookmarkEvery(time.Minute)
		w := newOwnWrites(t)
		pod, _ := s.SharedInformer.Store().GetByKey("ns/b")
		w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("500")))
		w.Deleted("owner", s, pod)
		s.Restore("4")
		cachetest.Advance(4 * time.Minute)
		w.expectWaiting("owner", "Pod ")
		cachetest.Advance(5 * time.Minute)
		w.expectReady("owner", "five minutes")
		if n := strings.Count(log(), "Giving up an own write"); n != 2 {
			t.Errorf("logged %d times that a write is given up, want 2:\n%s", n, log())
		}
	})
}

// An informer that is not up to date may receive the write however late.
func TestOutageDoesNotEndTheWait(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		s.InjectWatchFault(-1, fake.Fault{Err: cachetest.ErrConnectionRefused})
		s.InjectListFault(-1, fake.Fault{Err: cachetest.ErrConnectionRefused})
		s.CloseWatches()
		w.WroteAt("owner", s, s.Create(cachetest.Pod("d")))
		cachetest.Advance(time.Hour)
		w.expectWaiting("owner", "connection refused")
		cachetest.Advance(time.Hour)
		w.expectWaiting("owner", "connection refused")
		s.ClearFaults()
		cachetest.Advance(time.Minute)
		w.expectReady("owner", "the outage")
	})
}

func TestStoppedInformerEndsTheWait(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := newOwnWrites(t)
		w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
		w.expectWaiting("owner", "not yet at 5")
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
		s.stopRun = func() error { return nil }
		w.expectReady("owner", "Run")
		for range 50 {
			w.WroteAt("owner", s, cachetest.Pod("d", cachetest.WithVersion("5")))
			if err := w.EnsureReady("owner"); err != nil {
				t.Fatalf("a write after Run: %v", err)
			}
		}
	})
}

// Keys that are never asked for again are forgotten once their writes have been received.
func TestReceivedWritesAreForgotten(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		type key [64]byte
		w := cache.NewConsistencyStore(func(*key) {})
		note := func(version string) weak.Pointer[key] {
			k := new(key)
			w.WroteAt(k, s, cachetest.Pod("a", cachetest.WithVersion(version)))
			return weak.Make(k)
		}
		received, waiting := note("4"), note("9")
		for range 5000 {
			note("4")
		}
		runtime.GC()
		if received.Value() != nil || waiting.Value() == nil {
			t.Errorf("the store has the received write: %t; the other: %t", received.Value() != nil, waiting.Value() != nil)
		}
		runtime.KeepAlive(w)
	})
}

// A key that waits for a few of its writes has none that were received.
func TestReceivedWritesOfWaitingKeyAreForgotten(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		w := cache.NewConsistencyStore(func(string) {})
		for i := range 10 {
			w.Deleted("owner", s, cachetest.Pod(fmt.Sprint("waiting", i), cachetest.WithVersion("9")))
		}
		for i := range 20_000 {
			w.Deleted("owner", s, cachetest.Pod(fmt.Sprint("gone", i), cachetest.WithVersion("4")))
		}
		if n := w.Size(); n > 1000 {
			t.Errorf("the store has %d writes, of which 10 have not been received", n)
		}
	})
}

// Workers note writes of their keys, and wait until the informer has each.
func TestConsistencyStoreOfManyWorkers(t *testing.T) {
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		ready := make([]chan struct{}, 8)
		for i := range ready {
			ready[i] = make(chan struct{}, 1)
		}
		w := cache.NewConsistencyStore(func(worker int) { ready[worker] <- struct{}{} })
		var workers sync.WaitGroup
		for worker := range ready {
			workers.Go(func() {
				for n := range 50 {
					name := fmt.Sprintf("w%d-%d", worker, n)
					pod := s.Create(cachetest.Pod(name))
					w.WroteAt(worker, s, pod)
					if w.EnsureReady(worker) != nil {
						<-ready[worker]
					}
					if _, exists := s.SharedInformer.Store().GetByKey("ns/" + name); !exists {
						t.Errorf("worker %d is ready without Pod %s", worker, name)
					}
					s.Harness.Delete("ns/" + name)
					w.Deleted(worker, s, pod)
					if w.EnsureReady(worker) != nil {
						<-ready[worker]
					}
					if _, exists := s.SharedInformer.Store().GetByKey("ns/" + name); exists {
						t.Errorf("worker %d is ready with the deleted Pod %s", worker, name)
					}
				}
			})
		}
		workers.Wait()
	})
}
