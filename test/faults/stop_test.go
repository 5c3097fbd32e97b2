// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// InBubble checks that Run returns at once, and that no request, event or error follows. TestMain
// checks that no goroutine is left.
func TestRunReturnsAtEveryStage(t *testing.T) {
	after := func(d time.Duration) func(h *cachetest.Harness) {
		return func(*cachetest.Harness) { cachetest.Advance(d) }
	}
	for name, c := range map[string]struct {
		before, test func(h *cachetest.Harness)
	}{
		"before the first response": {func(h *cachetest.Harness) { h.InjectListFault(1, fake.Fault{Delay: time.Minute}) }, after(time.Second)},
		"between pages": {func(h *cachetest.Harness) {
			h.InjectListFault(1, fake.Fault{})
			h.InjectListFault(1, fake.Fault{Delay: time.Minute})
		}, after(time.Second)},
		"while the watch is opened":     {func(h *cachetest.Harness) { h.InjectWatchFault(1, fake.Fault{Delay: time.Minute}) }, after(time.Second)},
		"while watching":                {nil, after(time.Second)},
		"on a stalled connection":       {func(h *cachetest.Harness) { h.InjectWatchFault(1, fake.Fault{Stall: true}) }, after(time.Minute)},
		"during the backoff of a list":  {func(h *cachetest.Harness) { h.InjectListFault(-1, fake.Fault{Err: fake.InternalError()}) }, after(time.Minute)},
		"during the backoff of a watch": {func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()}) }, after(time.Minute)},
		"during a Retry-After":          {func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{Err: fake.TooManyRequests(200)}) }, after(time.Minute)},
		"after a watch closed":          {func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: -1}) }, after(time.Second)},
		"after a watch of one event": {func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) }, func(h *cachetest.Harness) {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(time.Second)
		}},
		"after a watch of two seconds": {func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseIn: 2 * time.Second}) }, after(3 * time.Second)},
		"while relisting": {nil, func(h *cachetest.Harness) {
			h.InjectListFault(1, fake.Fault{Delay: time.Minute})
			h.Send(fake.ErrorEvent(fake.Expired()))
			cachetest.Advance(3 * time.Second)
		}},
		"while probing": {nil, func(h *cachetest.Harness) {
			h.CloseWatches()
			h.InjectListFault(1, fake.Fault{Delay: time.Hour})
			cachetest.Advance(4 * time.Minute)
		}},
		"while probing between watches": {func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseIn: 30 * time.Second}) }, func(h *cachetest.Harness) {
			h.InjectListFault(1, fake.Fault{Delay: time.Hour})
			cachetest.Advance(2*time.Minute + 15*time.Second)
		}},
	} {
		for _, watchList := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, WatchList %v", name, watchList), func(t *testing.T) {
				before := c.before
				if before == nil {
					before = func(*cachetest.Harness) {}
				}
				cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{WatchList: watchList, PageSize: 2}, c.test, before)
			})
		}
	}
}

func TestCancelledContextMakesNoRequest(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, controller := cache.NewInformer(lw, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs[*corev1.Pod]{})
	if err := controller.Run(ctx); err != nil || len(lw.Requests()) > 0 {
		t.Errorf("Run: %v, requests %v", err, lw.Requests())
	}
	if err := controller.Run(t.Context()); !errors.Is(err, cache.ErrStopped) {
		t.Errorf("second Run: %v", err)
	}
	reflector := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{})
	if err := reflector.ListAndWatch(ctx); !errors.Is(err, context.Canceled) || len(lw.Requests()) > 0 {
		t.Errorf("ListAndWatch: %v, requests %v", err, lw.Requests())
	}
}

// blockedSource is a source whose methods ignore their context and block until list or watch is
// closed.
type blockedSource struct {
	*cachetest.Harness
	list, watch chan struct{}
	stopped     atomic.Int32 // counts the watches that were stopped
}

func newBlockedSource(h *cachetest.Harness) *blockedSource {
	return &blockedSource{Harness: h, list: make(chan struct{}), watch: make(chan struct{})}
}

func (s *blockedSource) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	<-s.list
	return s.Harness.List(context.Background(), options)
}

func (s *blockedSource) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	<-s.watch
	w, err := s.Harness.Watch(context.Background(), options)
	return stopCounter{w, &s.stopped}, err
}

// stopCounter counts the calls of Stop.
type stopCounter struct {
	watch.Interface
	stops *atomic.Int32
}

func (s stopCounter) Stop() {
	s.stops.Add(1)
	s.Interface.Stop()
}

// A watch that is returned after Run is stopped.
func TestRunReturnsWhileARequestIgnoresItsContext(t *testing.T) {
	for _, blocked := range []string{"list", "watch"} {
		t.Run(blocked, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := cachetest.New(t)
				source := newBlockedSource(h)
				h.Source = source
				if blocked == "watch" {
					close(source.list)
				}
				h.Run(cache.ReflectorOptions{})
				cachetest.Advance(time.Second)
				began := time.Now()
				h.Stop()
				if err := <-h.Stopped(); err != nil || time.Since(began) > time.Second {
					t.Errorf("Run returned %v after %v", err, time.Since(began))
				}
				if blocked == "list" {
					close(source.list)
					synctest.Wait()
					return
				}
				close(source.watch)
				synctest.Wait()
				if source.stopped.Load() != 1 || h.OpenWatches() != 0 {
					t.Errorf("%d watches stopped, %d open", source.stopped.Load(), h.OpenWatches())
				}
			})
		})
	}
}

// A list function that ignores its context is abandoned after the idle timeout.
func TestBlockedListIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		source := newBlockedSource(h)
		h.Source = source
		h.Run(cache.ReflectorOptions{})
		cachetest.Advance(7 * time.Minute)
		h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		close(source.list)
		close(source.watch)
		cachetest.Advance(time.Minute)
		h.ExpectSynced()
		h.CheckStop()
	})
}
