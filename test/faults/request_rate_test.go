// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// An informer makes at most 22 requests in any minute, and 130 in any ten minutes, however the
// server fails, and at most four lists from the second minute on. It watches again within a minute
// after the failure ends.
func TestRequestRateIsBoundedDuringFailures(t *testing.T) {
	lists := func(err error) func(*cachetest.Harness) {
		return func(h *cachetest.Harness) { h.InjectListFault(-1, fake.Fault{Err: err}) }
	}
	watches := func(err error) func(*cachetest.Harness) {
		return func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{Err: err}) }
	}
	everything := func(err error) func(*cachetest.Harness) {
		return func(h *cachetest.Harness) { lists(err)(h); watches(err)(h) }
	}
	unavailable := apierrors.NewServiceUnavailable("starting")
	for name, inject := range map[string]func(h *cachetest.Harness){
		"500 to everything":  everything(fake.InternalError()),
		"503 to everything":  everything(unavailable),
		"503 to lists":       lists(unavailable),
		"500 to watches":     watches(fake.InternalError()),
		"503 to watches":     watches(unavailable),
		"429 to everything":  everything(fake.TooManyRequests(0)),
		"connection refused": everything(cachetest.ErrConnectionRefused),
		"410 to everything":  everything(fake.Expired()),
		"410 to watches":     watches(fake.Expired()),
		"410 to lists":       lists(fake.Expired()),
		"504 to lists":       lists(fake.TooLargeResourceVersion()),
		"504 to everything":  everything(fake.TooLargeResourceVersion()),
		"403 to everything":  everything(fake.Forbidden()),
		"404 to everything":  everything(apierrors.NewNotFound(cachetest.PodResource, "")),
		"410 in each stream": func(h *cachetest.Harness) {
			h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1, EditEvent: func(watch.Event) []watch.Event {
				return []watch.Event{fake.ErrorEvent(fake.Expired())}
			}})
		},
		"watches closed at once":  func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: -1}) },
		"watches closed after ms": func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseIn: time.Millisecond}) },
		"watches closed after 2s": func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseIn: 2 * time.Second}) },
		"one event, then close":   func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) },
		"one bookmark, then close": func(h *cachetest.Harness) {
			h.BookmarkEvery(time.Millisecond)
			h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1})
		},
		"lists without version": func(h *cachetest.Harness) {
			h.InjectListFault(-1, fake.Fault{EditList: func(runtime.Object) runtime.Object { return &metav1.Table{} }})
			h.InjectWatchFault(-1, fake.Fault{Err: fake.Expired()})
		},
		"invalid event in each stream": func(h *cachetest.Harness) {
			h.InjectWatchFault(-1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
				return []watch.Event{{Type: watch.Added, Object: cachetest.Pod("")}}
			}})
		},
	} {
		for _, synced := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " after the initial list", false: " from the start"}[synced], func(t *testing.T) {
				begin := func(h *cachetest.Harness) {
					inject(h)
					h.UpdateEverySecond(600)
				}
				test := func(h *cachetest.Harness) {
					if synced {
						h.ExpectSynced()
						begin(h)
						h.CloseWatches()
					}
					began := time.Now()
					cachetest.Advance(11 * time.Minute)
					h.ExpectRequestRate(began)
					h.ExpectRates(began.Add(time.Minute))
					h.ClearFaults()
					h.CloseWatches()
					cachetest.Advance(time.Minute)
					h.ExpectStored(h.Served())
					if status := h.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching || !status.Synced {
						t.Errorf("status a minute after the failure: %+v", status)
					}
				}
				if synced {
					cachetest.InBubble(t, test)
				} else {
					cachetest.InBubble(t, test, begin)
				}
			})
		}
	}
}

// If the server closes each watch after one event, changes are stored within seconds. Such watches
// cannot repeat the last changes, so that a list confirms them once in half an hour.
func TestWatchesOfOneEventKeepTheStoreFresh(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for range 50 {
			h.Update(cachetest.Pod("a"))
			h.Update(cachetest.Pod("b"))
			cachetest.Advance(30 * time.Second)
			h.ExpectStored(h.Served())
		}
		if lists := h.Controller.Status().Lists; lists != 2 {
			t.Errorf("%d lists", lists)
		}
		h.ExpectNoError()
	}, func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) })
}

// A server that no longer has the version may close the watch without an error, so several watches
// without an event cause a relist.
func TestShortWatchesCauseRelist(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(3, fake.Fault{CloseAfterEvents: -1})
		cachetest.Advance(2 * time.Second)
		h.CloseWatches()
		cachetest.Advance(time.Minute)
		h.ExpectRequests(0, "list@0 watch@4 watch@4 watch@4 watch@4 list@4 watch@4")
		h.ExpectError(cachetest.ErrorIs(reflector.ErrShortWatches))
	})
}

// After minutes of a working watch the first retry follows within about a second. After less, it
// waits as long as the last retry before.
func TestBackoffResetsAfterAHealthyPeriod(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		fail := func(d time.Duration) {
			h.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()})
			h.CloseWatches()
			cachetest.Advance(d)
			h.ClearFaults()
			cachetest.Advance(31 * time.Second)
			h.SkipVersions(1)
			h.Bookmark() // otherwise the next failure may be one too many in a row, and cause a list at once
			cachetest.Advance(time.Second)
		}
		firstDelay := func() time.Duration {
			before := len(h.Requests())
			h.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
			h.CloseWatches()
			cachetest.Advance(40 * time.Second)
			requests := h.Requests()[before:] // the failing watch and the next watch, or a list and a watch
			return requests[1].Time.Sub(requests[0].Time)
		}
		h.KeepWatchesOpen = true
		h.CloseWatches()
		fail(10 * time.Minute)
		if delay := firstDelay(); delay < 20*time.Second || delay > 30*time.Second {
			t.Errorf("retried after %v, following half a minute of a working watch", delay)
		}
		cachetest.Advance(3 * time.Minute)
		if delay := firstDelay(); delay > 1200*time.Millisecond {
			t.Errorf("retried after %v, following minutes of a working watch", delay)
		}
	})
}

func TestBackoffResetsAfterAWatchList(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		cachetest.Advance(4 * time.Minute) // the first minute passes until it succeeds
		h.ExpectSynced()
		n := len(h.Requests())
		h.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
		h.CloseWatches()
		cachetest.Advance(40 * time.Second)
		requests := h.Requests()[n:]
		if len(requests) < 2 || requests[1].Time.Sub(requests[0].Time) > 1200*time.Millisecond {
			t.Errorf("requests after the failure: %v", requests)
		}
	}, func(h *cachetest.Harness) {
		h.KeepWatchesOpen = true
		h.InjectWatchFault(6, fake.Fault{Err: fake.TooManyRequests(0)})
	})
}
