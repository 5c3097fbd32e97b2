// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestHandlerCallsItsInformer calls the methods of the informer in a handler, for each event. None
// blocks, and a handler that was added receives what others receive.
func TestHandlerCallsItsInformer(t *testing.T) {
	added := &eventRecorder{}
	var calling *cache.Registration
	var registered chan struct{}
	calls := 0
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.Update(cachetest.Pod("a"))
		synctest.Wait()
		if calls != 4 {
			t.Errorf("%d calls, want 4", calls)
		}
		if got := sortWords(added.take()); got != "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4, Update ns/a a@2 a@5" {
			t.Errorf("the added handler received %q", got)
		}
		calling.Cancel()
	}, func(s *sharedHarness) {
		registered = make(chan struct{})
		calling = s.add(eventFunc(func(e cache.Event[*corev1.Pod]) {
			<-registered
			if calls++; calls == 1 {
				s.add(added, cache.HandlerOptions{})
			}
			other := s.add(&eventRecorder{}, cache.HandlerOptions{})
			if err := other.Stop(context.Background()); err != nil {
				t.Errorf("Stop of another handler: %v", err)
			}
			s.add(&eventRecorder{}, cache.HandlerOptions{}).Cancel()
			if _, ok := s.SharedInformer.Store().GetByKey(e.Key); !ok || !s.HasSynced() || len(s.SharedInformer.Status().Handlers) == 0 {
				t.Errorf("%s is not stored", e.Key)
			}
			if err := s.WaitForObject(context.Background(), e.New); err != nil {
				t.Errorf("WaitForObject: %v", err)
			}
		}), cache.HandlerOptions{})
		close(registered)
	})
}

// TestHandlerStopsTheInformer ends Run's context in a handler. Run returns, and no call follows.
func TestHandlerStopsTheInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{})
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		s.add(eventFunc(func(cache.Event[*corev1.Pod]) {
			calls++
			cancel()
		}), cache.HandlerOptions{})
		if err := s.SharedInformer.Run(ctx); err != nil || calls != 1 {
			t.Errorf("Run: %v, after %d calls", err, calls)
		}
	})
}

// TestHandlerThatStopsItselfIsNamed calls Stop in the handler to stop, with a context that does not
// end. Other handlers receive all events, and Run returns after its grace period and names the
// handler.
func TestHandlerThatStopsItselfIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{})
		forever, release := context.WithCancel(context.Background())
		registered := make(chan struct{})
		var r *cache.Registration
		r = s.add(eventFunc(func(cache.Event[*corev1.Pod]) {
			<-registered
			_ = r.Stop(forever)
		}), cache.HandlerOptions{Name: "stops itself"})
		close(registered)
		recorder := &eventRecorder{}
		s.add(recorder, cache.HandlerOptions{})
		s.start()
		s.Update(cachetest.Pod("a"))
		s.expect(recorder, "Addi ns/a a@2, Addi ns/b b@3, Addi ns/c c@4, Update ns/a a@2 a@5")
		began := time.Now()
		if err := s.stopRun(); !errors.Is(err, cache.ErrHandlerBlocked) || !cachetest.ErrorContains("stops itself")(err) || time.Since(began) > 11*time.Second {
			t.Errorf("Run: %v, %v after its context ended", err, time.Since(began))
		}
		release()
		synctest.Wait()
	})
}

// TestStopWhileTheHandlerWaitsForTheCaller calls Stop while holding a lock that the handler takes.
// Stop returns an error that names the handler when its context ends, and the handler's call is the
// last one.
func TestStopWhileTheHandlerWaitsForTheCaller(t *testing.T) {
	var mu sync.Locker
	calls := 0
	var r *cache.Registration
	runShared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		ctx, cancel := context.WithTimeout(s.T.Context(), time.Second)
		defer cancel()
		if err := r.Stop(ctx); !errors.Is(err, cache.ErrHandlerBlocked) || !cachetest.ErrorContains("locking")(err) {
			t.Errorf("Stop: %v", err)
		}
		mu.Unlock()
		<-r.Done()
		s.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(time.Minute)
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	}, func(s *sharedHarness) {
		mu = newChannelLock()
		mu.Lock()
		r = s.add(eventFunc(func(cache.Event[*corev1.Pod]) {
			calls++
			mu.Lock()
			defer mu.Unlock()
		}), cache.HandlerOptions{Name: "locking"})
	})
}

// channelLock is a mutex that a synctest bubble knows to be waited for.
type channelLock chan struct{}

func newChannelLock() channelLock { return make(channelLock, 1) }

func (l channelLock) Lock() { l <- struct{}{} }

func (l channelLock) Unlock() { <-l }
