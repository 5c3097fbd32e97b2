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
	"github.com/kinformer/kinformer/internal/cachetest"
)

// Whatever goes wrong, and for however long, a server in trouble gets no more than
// twelve requests and four lists a minute from one informer, and the informer is
// there again soon after the trouble is over (T8, T9, W9, W14, W15; I11, I16).
func TestStorms(t *testing.T) {
	lists := func(err error) func(*cachetest.Harness) {
		return func(r *cachetest.Harness) { r.InjectListFault(-1, fake.Fault{Err: err}) }
	}
	watches := func(err error) func(*cachetest.Harness) {
		return func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{Err: err}) }
	}
	everything := func(err error) func(*cachetest.Harness) {
		return func(r *cachetest.Harness) { lists(err)(r); watches(err)(r) }
	}
	unavailable := apierrors.NewServiceUnavailable("starting")
	for name, storm := range map[string]func(r *cachetest.Harness){
		"500 to everything":  everything(fake.InternalError()),
		"503 to everything":  everything(unavailable),
		"503 to lists":       lists(unavailable),
		"500 to watches":     watches(fake.InternalError()),
		"503 to watches":     watches(unavailable),
		"429 to everything":  everything(fake.TooManyRequests(0)),
		"refused":            everything(cachetest.ErrConnectionRefused),
		"410 to everything":  everything(fake.Expired()),
		"410 to watches":     watches(fake.Expired()),
		"410 to lists":       lists(fake.Expired()),
		"too large to lists": lists(fake.TooLargeResourceVersion()),
		"too large to all":   everything(fake.TooLargeResourceVersion()),
		"403 to everything":  everything(fake.Forbidden()),
		"404 to everything":  everything(apierrors.NewNotFound(cachetest.PodResource, "")),
		"410 in each stream": func(r *cachetest.Harness) {
			r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1, EditEvent: func(watch.Event) []watch.Event {
				return []watch.Event{fake.ErrorEvent(fake.Expired())}
			}})
		},
		"watches closed at once":  func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: -1}) },
		"watches closed after ms": func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseIn: time.Millisecond}) },
		"watches closed after 2s": func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseIn: 2 * time.Second}) },
		"one event, then close":   func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) },
		"one bookmark, then close": func(r *cachetest.Harness) {
			r.BookmarkEvery(time.Millisecond)
			r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1})
		},
		"lists without version": func(r *cachetest.Harness) {
			r.InjectListFault(-1, fake.Fault{EditList: func(runtime.Object) runtime.Object { return &metav1.Table{} }})
			r.InjectWatchFault(-1, fake.Fault{Err: fake.Expired()})
		},
		"nonsense in each stream": func(r *cachetest.Harness) {
			r.InjectWatchFault(-1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
				return []watch.Event{{Type: watch.Added, Object: cachetest.Pod("")}}
			}})
		},
	} {
		for _, synced := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " once synced", false: " from the beginning"}[synced], func(t *testing.T) {
				begin := func(r *cachetest.Harness) {
					storm(r)
					r.UpdateEverySecond(1200) // so that there is something to be told of
				}
				test := func(r *cachetest.Harness) {
					if synced {
						r.ExpectSynced()
						begin(r)
						r.CloseWatches()
					}
					began := time.Now()
					cachetest.Advance(21 * time.Minute)
					r.ExpectRates(began.Add(time.Minute))
					r.ClearFaults()
					r.CloseWatches()
					cachetest.Advance(time.Minute)
					r.ExpectStored(r.Served())
					if status := r.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching || !status.Synced {
						t.Errorf("status a minute after the storm: %+v", status)
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

// A server that ends every watch after an event does not cost freshness: what
// happens is known within seconds (W15).
func TestWatchesOfOneEventStayFresh(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		for range 100 {
			r.Update(cachetest.Pod("a"))
			r.Update(cachetest.Pod("b"))
			cachetest.Advance(12 * time.Second)
			r.ExpectStored(r.Served())
		}
		if lists := r.Controller.Status().Lists; lists != 1 {
			t.Errorf("%d lists", lists)
		}
		r.ExpectNoError()
	}, func(r *cachetest.Harness) { r.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) })
}

// Watches that end at once, and say nothing, bring the version in doubt (T3): a
// server that has forgotten it may just hang up.
func TestShortWatchesLeadToARelist(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.InjectWatchFault(3, fake.Fault{CloseAfterEvents: -1})
		cachetest.Advance(2 * time.Second)
		r.CloseWatches()
		cachetest.Advance(time.Minute)
		r.ExpectRequests(0, "list@0 watch@4 watch@4 watch@4 watch@4 list@4 watch@4")
		r.ExpectError(cachetest.ErrorIs(cache.ErrShortWatches))
	})
}

// An hour of failure after an hour of health begins with a short wait, and one after
// a minute of it does not (design §7).
func TestBackoffBeginsAnewAfterHealth(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		fail := func(for_ time.Duration) {
			r.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()})
			r.CloseWatches()
			cachetest.Advance(for_)
			r.ClearFaults()
			cachetest.Advance(31 * time.Second)
		}
		firstWait := func() time.Duration {
			before := len(r.Requests())
			r.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
			r.CloseWatches()
			cachetest.Advance(40 * time.Second)
			requests := r.Requests()[before:] // the watch that fails, and the next watch, or a list and a watch after it
			return requests[1].Time.Sub(requests[0].Time)
		}
		r.KeepWatchesOpen = true
		r.CloseWatches()
		fail(10 * time.Minute)
		if wait := firstWait(); wait < 20*time.Second || wait > 30*time.Second {
			t.Errorf("waited %v after a minute of health", wait)
		}
		cachetest.Advance(3 * time.Minute)
		if wait := firstWait(); wait > 1200*time.Millisecond {
			t.Errorf("waited %v after minutes of health", wait)
		}
	})
}

// The state that a WatchList brings is health, too.
func TestBackoffBeginsAnewAfterAWatchList(t *testing.T) {
	byWatchList(t, func(r *cachetest.Harness) {
		cachetest.Advance(4 * time.Minute) // a minute of which it takes to get there
		r.ExpectSynced()
		n := len(r.Requests())
		r.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
		r.CloseWatches()
		cachetest.Advance(40 * time.Second)
		requests := r.Requests()[n:]
		if len(requests) < 2 || requests[1].Time.Sub(requests[0].Time) > 1200*time.Millisecond {
			t.Errorf("requests after the failure: %v", requests)
		}
	}, func(r *cachetest.Harness) {
		r.KeepWatchesOpen = true
		r.InjectWatchFault(6, fake.Fault{Err: fake.TooManyRequests(0)})
	})
}
