// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// The backlog of a blocked handler is bounded by two states and 200 bytes per object, however many
// updates there were.
func TestBlockedHandlerBacklogIsBounded(t *testing.T) {
	const pods, updates, padding = boundedPods, 8 * boundedPods, 500
	blocked, resume := make(chan struct{}), make(chan struct{})
	var calls, coalesced atomic.Int64
	i := startPodInformer(t, pods, func(config *Config) { config.CoalesceThreshold = 2 * pods })
	h := add(t, i, HandlerConfig{Name: "blocked", OnEvent: func(e Event) {
		if e.InInitialList {
			return
		}
		if calls.Add(1) == 1 {
			close(blocked)
			<-resume
		}
		coalesced.Add(int64(e.Coalesced))
	}})
	<-h.Synced()
	update := func(from, n int) {
		for k, item := range paddedPodItems(n, pods, pods+from+1, padding) {
			i.feed.Apply(watch.Modified, item)
			if from == 0 && k == 0 {
				<-blocked
			}
		}
	}
	update(0, pods) // so that all Pods have the same size
	before := process.LiveHeap()
	size := paddedPodSize(padding)
	var most float64
	for from := pods; from < updates; from += pods {
		update(from, pods)
		awaitCompaction(i, h)
		most = max(most, process.LiveHeap()-before)
	}
	bound := float64(pods * (2*size + 200))
	t.Logf("a blocked handler keeps at most %.0f bytes for each of %d objects of %d bytes", most/pods, pods, size)
	if most > bound {
		t.Errorf("a blocked handler keeps %.0f bytes, want at most %.0f", most, bound)
	}
	close(resume)
	for h.Status().Backlog > 0 {
		runtime.Gosched()
	}
	if got := calls.Load() + coalesced.Load(); got != updates {
		t.Errorf("the events stand for %d updates, want %d", got, updates)
	}
	if calls.Load() > 4*pods {
		t.Errorf("%d calls for %d objects", calls.Load(), pods)
	}
}

// awaitCompaction waits until the compactor has compacted the backlog of a handler, for which it
// may have to wait for a processor.
func awaitCompaction(i *Informer, h *Handler) {
	for {
		h.mu.Lock()
		unread, compacting := i.log.Appended()-h.position(), h.compacting
		h.mu.Unlock()
		if compacting && unread < i.threshold()/8 || !compacting && unread < i.threshold() {
			return
		}
		runtime.Gosched()
	}
}

// paddedPodItems is podItems of Pods with an annotation of a given size.
func paddedPodItems(n, pods, version, padding int) []feed.Item {
	items := podItems(n, pods, version)
	for i := range items {
		items[i].Object.(*corev1.Pod).Annotations = map[string]string{"k": string(make([]byte, padding))}
	}
	return items
}

// paddedPodSize returns the heap size of one Pod of paddedPodItems.
func paddedPodSize(padding int) int {
	const n = 2_000
	before := process.LiveHeap()
	pods := paddedPodItems(n, n, 1_000_000, padding)
	size := (process.LiveHeap() - before) / n
	runtime.KeepAlive(pods)
	return int(size)
}

func TestStoppedHandlersAreNotLeaked(t *testing.T) {
	i := startPodInformer(t, 10)
	addAndStop := func(n int) {
		for k := range n {
			h := add(t, i, HandlerConfig{Name: strconv.Itoa(k), OnEvent: func(Event) {}})
			if k%2 == 0 {
				<-h.Synced()
			}
			i.feed.Apply(watch.Modified, podItems(1, 10, 1000+k)[0])
			if err := h.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	expectNoGrowth(t, addAndStop, 100, stoppedHandlers)
	if len(i.Handlers()) != 0 || len(i.running) != 0 {
		t.Errorf("%d handlers are left, %d running", len(i.Handlers()), len(i.running))
	}
}

// expectNoGrowth checks that later uses leave as much on the heap, and as many goroutines, as the
// first.
func expectNoGrowth(t *testing.T, use func(n int), first, later int) {
	t.Helper()
	use(first)
	before, running := process.LiveHeap(), runtime.NumGoroutine()
	use(later)
	if grown := process.LiveHeap() - before; grown > 200_000 {
		t.Errorf("the heap has grown by %.0f bytes", grown)
	}
	goroutines.ExpectAtMost(t, running)
}

// A canceled handler keeps no part of the log alive, even while its last call is in progress.
func TestCanceledHandlerReleasesLog(t *testing.T) {
	i := startPodInformer(t, 10)
	resume, blocked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h := add(t, i, HandlerConfig{Name: "blocked", EveryEvent: true, OnEvent: func(Event) {
		once.Do(func() { close(blocked) })
		<-resume
	}})
	<-blocked
	h.Cancel()
	before := process.LiveHeap()
	for k := range 200 {
		for _, item := range podItems(100, 10, 1000+100*k) {
			i.feed.Apply(watch.Modified, item)
		}
	}
	if grown := process.LiveHeap() - before; grown > 500_000 {
		t.Errorf("the heap has grown by %.0f bytes", grown)
	}
	close(resume)
	<-h.Done()
}

// Informers are garbage after they have stopped, or if they never ran.
func TestStoppedInformersAreNotLeaked(t *testing.T) {
	useInformers := func(n int) {
		for k := range n {
			i := newPodInformer()
			i.AddHandler("", func(Event) {}, time.Hour)
			if k%4 == 0 {
				continue
			}
			stop := start(i)
			i.feed.Begin().Commit("1")
			i.feed.Apply(watch.Added, podItems(1, 1, 2)[0])
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
	}
	expectNoGrowth(t, useInformers, 10, 1000)
}

// A handler that waits for the next event keeps no state of a delivered one alive.
func TestDeliveredChangeKeepsNoStateAlive(t *testing.T) {
	for name, config := range map[string]HandlerConfig{
		"events":  {OnEvent: func(Event) {}},
		"batches": {OnBatch: func([]Event) {}},
	} {
		t.Run(name, func(t *testing.T) {
			i := startPodInformer(t, 1)
			h := add(t, i, config)
			<-h.Synced()
			pod := addAndDelete(i)
			for h.Status().Backlog > 0 {
				runtime.Gosched()
			}
			runtime.GC()
			runtime.GC()
			if pod.Value() != nil {
				t.Error("a Pod whose deletion was delivered is alive")
			}
		})
	}
}

// addAndDelete adds a Pod and deletes it. It returns a weak pointer to the Pod.
func addAndDelete(i *Informer) weak.Pointer[corev1.Pod] {
	items := podItems(1, 10, 1000)
	i.feed.Apply(watch.Added, items[0])
	i.feed.Apply(watch.Deleted, podItems(1, 10, 1010)[0])
	return weak.Make(items[0].Object.(*corev1.Pod))
}
