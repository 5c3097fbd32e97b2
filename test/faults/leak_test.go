// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// countingClock is the real clock. It counts the timers that have neither fired nor been stopped.
type countingClock struct {
	clock.RealClock
	timers atomic.Int64
}

type countingTimer struct {
	*time.Timer
	fired chan time.Time
	ended atomic.Bool
	clock *countingClock
}

func (c *countingClock) NewTimer(d time.Duration) clock.Timer {
	c.timers.Add(1)
	t := &countingTimer{fired: make(chan time.Time, 1), clock: c}
	t.Timer = time.AfterFunc(d, func() {
		t.end()
		t.fired <- time.Now()
	})
	return t
}

func (t *countingTimer) end() {
	if !t.ended.Swap(true) {
		t.clock.timers.Add(-1)
	}
}

func (t *countingTimer) C() <-chan time.Time { return t.fired }

func (t *countingTimer) Stop() bool {
	t.end()
	return t.Timer.Stop()
}

// usage is what an informer may leak.
type usage struct {
	goroutines int
	timers     int64
}

func (c *countingClock) usage() usage {
	synctest.Wait()
	return usage{runtime.NumGoroutine(), c.timers.Load()}
}

// expectUsage checks that nothing was leaked. A few goroutines more are those of idle connections.
// Those that have just ended are counted until they have had a processor.
func (c *countingClock) expectUsage(t *testing.T, want usage) {
	t.Helper()
	got := c.usage()
	for range 100_000 {
		if got.goroutines <= want.goroutines+10 {
			break
		}
		runtime.Gosched()
		got = c.usage()
	}
	if got.goroutines > want.goroutines+10 || got.timers != want.timers {
		t.Errorf("%+v, before: %+v", got, want)
	}
}

// TestReconnectsLeakNothing ends thousands of watches, in each of several ways. The numbers of
// goroutines and timers do not grow.
func TestReconnectsLeakNothing(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"closed":  {CloseIn: time.Minute},
		"410":     {CloseIn: time.Minute, EditEvent: replaceBy(fake.ErrorEvent(fake.Expired()))},
		"500":     {Err: fake.InternalError()},
		"stalled": {Stall: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &countingClock{}
			cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{Clock: c}, func(h *cachetest.Harness) {
				h.ExpectSynced()
				before := c.usage()
				h.InjectWatchFault(leakCycles, fault)
				h.CloseWatches()
				for h.Controller.Status().Requests.Watches < leakCycles {
					h.Update(cachetest.Pod("a"))
					cachetest.Advance(10 * time.Minute)
				}
				h.ClearFaults()
				h.CloseWatches()
				cachetest.Advance(11 * time.Minute)
				c.expectUsage(t, before)
				h.ExpectStored(h.Served())
			}, func(h *cachetest.Harness) { h.LimitHistory(10) })
		})
	}
}

// TestReconnectsOverHTTPLeakNothing ends hundreds of watches with their connections.
func TestReconnectsOverHTTPLeakNothing(t *testing.T) {
	c := &countingClock{}
	overEachClient(t, cache.ReflectorOptions{Clock: c}, func(h *cachetest.Harness, n *network) {
		reconnect := func(times int) {
			for range times {
				n.each(func(c *connection) { _ = c.server.Close() })
				n.forget()
				cachetest.Advance(3 * time.Minute)
			}
		}
		reconnect(10)
		before := c.usage()
		reconnect(leakCycles / 20)
		c.expectUsage(h.T, before)
	})
}

// TestHandlersLeakNothing adds and removes thousands of handlers of a running informer.
func TestHandlersLeakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := cachetest.New(t), &countingClock{}
		informer := cache.NewSharedInformer(h, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Clock: c, ResyncPeriod: time.Hour})
		stop := runInformer(t, informer)
		before := c.usage()
		for i := range leakCycles {
			r, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{}, cache.HandlerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				<-r.Synced()
			}
			if err := r.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c.expectUsage(t, before)
		stop()
	})
}

// TestInformersLeakNothing starts and stops thousands of informers, of both packages.
func TestInformersLeakNothing(t *testing.T) {
	for name, run := range map[string]func(h *cachetest.Harness, c *countingClock, ctx context.Context){
		"cache": func(h *cachetest.Harness, c *countingClock, ctx context.Context) {
			informer := cache.NewSharedInformer(h, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Clock: c, ResyncPeriod: time.Hour})
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{}, cache.HandlerOptions{}); err != nil {
				h.T.Error(err)
			}
			if err := informer.Run(ctx); err != nil {
				h.T.Error(err)
			}
		},
		"clientgo": func(h *cachetest.Harness, _ *countingClock, ctx context.Context) {
			lw := &clientcache.ListWatch{ListWithContextFunc: h.List, WatchFuncWithContext: h.Watch}
			informer := clientgo.With(clientgo.Options{}).NewSharedIndexInformer(lw, &corev1.Pod{}, time.Hour, clientcache.Indexers{})
			if _, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{}); err != nil {
				h.T.Error(err)
			}
			informer.RunWithContext(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, c := cachetest.New(t), &countingClock{}
				h.KeepWatchesOpen = true
				before := c.usage()
				for i := range leakCycles {
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan struct{})
					go func() {
						run(h, c, ctx)
						close(done)
					}()
					if i%2 == 0 {
						synctest.Wait()
					}
					cancel()
					<-done
				}
				c.expectUsage(t, before)
				if n := h.OpenWatches(); n > 0 {
					t.Errorf("%d watches are open", n)
				}
			})
		})
	}
}
