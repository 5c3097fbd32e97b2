package faults_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// The faults of watches; the names in brackets are those of the fault catalogue.

// A 410 leads to a relist at the last version, whether it comes in the stream or as
// the answer to the request, and as Expired or Gone (T1, T2).
func TestWatchGone(t *testing.T) {
	gone := map[string]error{
		"Expired": fake.Expired(),
		"Gone":    &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone}},
	}
	for reason, err := range gone {
		t.Run(reason+" in the stream", func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.ExpectSynced()
				r.Update(cachetest.Pod("a"))
				r.Send(fake.ErrorEvent(err))
				r.Delete("ns/b")
				cachetest.Advance(2 * time.Second)
				r.ExpectRequests(0, "list@0 watch@4 list@5 watch@6")
				r.ExpectEvents("U a@2→5", "D b@3")
				r.ExpectError(func(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) })
			})
		})
		t.Run(reason+" as the answer", func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.InjectWatchFault(1, fake.Fault{Err: err})
				r.Update(cachetest.Pod("a"))
				r.CloseWatches()
				r.Delete("ns/b")
				cachetest.Advance(10 * time.Second)
				r.ExpectRequests(0, "list@0 watch@4 watch@5 list@5 watch@6")
				r.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5", "D b@3")
			})
		})
	}
}

// A watch whose history was compacted while it was closed is the same from the
// server's side (T1).
func TestWatchCompacted(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
		r.CloseWatches()
		r.Delete("ns/c")
		r.Create(cachetest.Pod("d"))
		r.Compact()
		cachetest.Advance(time.Minute)
		r.ExpectStored(r.Served())
		r.ExpectEvents("D c@4", "A d@6")
	})
}

// A server that is busy, unreachable, or failing gets the same watch again, and no
// lists on top.
func TestWatchResumesAfter(t *testing.T) {
	unreachable := func(text string) error { return errors.New(text) }
	faults := map[string]error{
		"429":                   fake.TooManyRequests(0),
		"429 after 7 s":         fake.TooManyRequests(7),
		"503":                   apierrors.NewServiceUnavailable("starting"),
		"500":                   fake.InternalError(),
		"504":                   apierrors.NewTimeoutError("slow", 0),
		"server timeout":        apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "watch", 1),
		"too large":             fake.TooLargeResourceVersion(),
		"401":                   apierrors.NewUnauthorized("token expired"),
		"403":                   fake.Forbidden(),
		"connection refused":    fmt.Errorf("dial tcp 127.0.0.1:1: %w", cachetest.ErrConnectionRefused),
		"connection reset":      fmt.Errorf("read tcp: %w", cachetest.ErrConnectionReset),
		"GOAWAY":                unreachable("http2: server sent GOAWAY and closed the connection; LastStreamID=1"),
		"HTTP/2 lost":           unreachable("http2: client connection lost"),
		"no such host":          &cachetest.URLError,
		"something not thought": errors.New("unheard of"),
	}
	for name, fault := range faults {
		for _, inStream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in the stream %v", name, inStream), func(t *testing.T) {
				cachetest.InBubble(t, func(r *cachetest.Harness) {
					r.ExpectSynced()
					if inStream {
						r.Send(fake.ErrorEvent(fault))
					} else {
						r.InjectWatchFault(1, fake.Fault{Err: fault})
						r.CloseWatches()
					}
					r.Update(cachetest.Pod("a"))
					cachetest.Advance(20 * time.Second)
					if requests, _ := r.RequestsSince(1); inStream && requests != "watch@4 watch@4" || !inStream && requests != "watch@4 watch@4 watch@4" {
						t.Errorf("requests after the list: %s", requests)
					}
					r.ExpectEvents("U a@2→5")
					if status := r.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching {
						t.Errorf("status after recovery: %+v", status)
					}
					if len(r.TakeErrors()) != 1 {
						t.Error("want one error reported")
					}
				})
			})
		}
	}
}

// However often: what a server that is busy, out of reach or closed to this client said
// before is as true as it was.
func TestNoListsOnTopOfTrouble(t *testing.T) {
	for name, fault := range map[string]error{
		"429": fake.TooManyRequests(1), "503": apierrors.NewServiceUnavailable("starting"), "504": apierrors.NewTimeoutError("slow", 0),
		"401": apierrors.NewUnauthorized("token expired"), "403": fake.Forbidden(),
		"refused": cachetest.ErrConnectionRefused, "reset": cachetest.ErrConnectionReset, "no such host": &cachetest.URLError, "cut": io.ErrUnexpectedEOF,
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.ExpectSynced()
				r.InjectWatchFault(9, fake.Fault{Err: fault})
				r.CloseWatches()
				cachetest.Advance(5 * time.Minute)
				requests, _ := r.RequestsSince(0)
				if want := "list@0" + strings.Repeat(" watch@4", 11); strings.TrimSuffix(requests, " list@") != want { // a probe of the quiet watch
					t.Errorf("requests [%s], want [%s]", requests, want)
				}
			})
		})
	}
}

// Whatever form a Retry-After has, the next watch comes after it, and not after an
// absurd one (T7).
func TestRetryAfter(t *testing.T) {
	for seconds, want := range map[int][2]time.Duration{
		0:             {800 * time.Millisecond, 1200 * time.Millisecond},
		-3:            {800 * time.Millisecond, 1200 * time.Millisecond},
		7:             {7 * time.Second, 11 * time.Second},
		1_000_000_000: {5 * time.Minute, 8 * time.Minute},
	} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				began := time.Now()
				r.Send(fake.ErrorEvent(fake.TooManyRequests(seconds)))
				cachetest.Advance(10 * time.Minute)
				requests := r.Requests()
				if waited := requests[2].Time.Sub(began); waited < want[0] || waited > want[1] {
					t.Errorf("waited %v, want %v to %v", waited, want[0], want[1])
				}
			})
		})
	}
}

// Clients that are told the same time to wait do not come back together.
func TestRetryAfterIsJittered(t *testing.T) {
	waits := make(map[time.Duration]bool)
	for range 5 {
		cachetest.InBubble(t, func(r *cachetest.Harness) {
			began := time.Now()
			r.Send(fake.ErrorEvent(fake.TooManyRequests(30)))
			cachetest.Advance(time.Minute)
			waits[r.Requests()[2].Time.Sub(began)] = true
		})
	}
	if len(waits) < 2 {
		t.Errorf("five clients all waited %v", waits)
	}
}

// A 500 at one version for ever is met with a relist: what is broken may be this
// version only (W23).
func TestWatchFailsForEverAtOneVersion(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.InjectWatchFault(5, fake.Fault{Err: fake.InternalError()})
		r.CloseWatches()
		r.Delete("ns/b")
		cachetest.Advance(2 * time.Minute)
		r.ExpectRequests(0, "list@0 watch@4 watch@4 watch@4 watch@4 watch@4 watch@4 list@4 watch@5")
		r.ExpectEvents("D b@3")
	})
}

// A client whose rights were taken away keeps its state, says so, does not list,
// and goes on when it gets them back (T10, C24).
func TestForbiddenThenHealed(t *testing.T) {
	for name, fault := range map[string]error{"401": apierrors.NewUnauthorized("token expired"), "403": fake.Forbidden()} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.ExpectSynced()
				lost := time.Now()
				r.InjectWatchFault(-1, fake.Fault{Err: fault})
				r.CloseWatches()
				cachetest.Advance(time.Hour)
				for _, request := range r.Requests()[1:] {
					if request.Verb == "list" {
						t.Fatal("listed on an authorization error")
					}
				}
				r.ExpectRates(lost.Add(2 * time.Minute))
				status := r.Controller.Status()
				if status.Phase != cache.PhaseRetrying || !errors.Is(status.Err, fault) || status.Attempts < 100 || status.ErrSince.Sub(lost) > 10*time.Second {
					t.Errorf("status without rights: %+v, since %v", status, status.ErrSince.Sub(lost))
				}
				if status.FreshAt.After(lost) {
					t.Errorf("claims to have been fresh %v after the loss", status.FreshAt.Sub(lost))
				}
				r.ExpectStored("a@2 b@3 c@4")
				r.ClearFaults()
				r.Update(cachetest.Pod("c"))
				cachetest.Advance(30 * time.Second)
				r.ExpectEvents("U c@4→5")
				if status := r.Controller.Status(); status.Err != nil || status.Attempts != 0 || !status.ErrSince.IsZero() {
					t.Errorf("status after healing: %+v", status)
				}
			})
		})
	}
}

// A connection that died without a word is noticed and given up (T11).
func TestSilentConnection(t *testing.T) {
	t.Run("no bookmarks", func(t *testing.T) {
		cachetest.InBubble(t, func(r *cachetest.Harness) {
			r.ExpectSynced()
			r.Update(cachetest.Pod("a"))
			cachetest.Advance(11 * time.Minute)
			r.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
			cachetest.Advance(5 * time.Second)
			r.ExpectEvents("U a@2→5")
		}, func(r *cachetest.Harness) { r.InjectWatchFault(1, fake.Fault{Stall: true}) })
	})
	t.Run("bookmarks stop", func(t *testing.T) {
		dead := false
		cachetest.InBubble(t, func(r *cachetest.Harness) {
			r.ExpectSynced()
			cachetest.Advance(4 * time.Minute)
			dead = true
			r.Update(cachetest.Pod("a"))
			cachetest.Advance(5 * time.Minute)
			r.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
			dead = false
			cachetest.Advance(2 * time.Minute)
			r.ExpectStored(r.Served())
		}, func(r *cachetest.Harness) {
			r.KeepWatchesOpen = true
			r.BookmarkEvery(time.Minute)
			r.InjectWatchFault(1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
				if dead {
					return nil
				}
				return []watch.Event{e}
			}})
		})
	})
}

// A quiet server is not taken for a dead one: watches that live out their time
// without an event make no error, and no list beyond the probes.
func TestQuietIsNoFault(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		cachetest.Advance(12 * time.Hour)
		r.ExpectNoError()
		r.ExpectStored("a@2 b@3 c@4")
		for _, request := range r.Requests()[1:] {
			if request.Verb == "list" && request.Options.Limit != 1 {
				t.Fatalf("a quiet collection was listed with %+v", request.Options)
			}
		}
		if status := r.Controller.Status(); status.Watches > 12*12+1 || status.Lists > status.Watches {
			t.Errorf("%d watches and %d lists in twelve quiet hours", status.Watches, status.Lists)
		}
	})
}

// What follows an event of a watch arrives, whatever it carried (W16 to W19, W22,
// L5, W31): the stream is dropped, its cursor kept, and a second time the
// collection is listed.
func TestNonsenseInTheStream(t *testing.T) {
	bad := map[string]watch.Event{
		"another kind":        {Type: watch.Added, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "99"}}},
		"a table":             {Type: watch.Added, Object: &metav1.Table{}},
		"no metadata":         {Type: watch.Modified, Object: &corev1.Pod{}},
		"no name":             {Type: watch.Added, Object: cachetest.Pod("", cachetest.WithVersion("99"))},
		"no object":           {Type: watch.Deleted},
		"a nil object":        {Type: watch.Modified, Object: (*corev1.Pod)(nil)},
		"a nil bookmark":      {Type: watch.Bookmark, Object: (*corev1.Pod)(nil)},
		"no bookmark":         {Type: watch.Bookmark},
		"an unknown type":     {Type: "PATCHED", Object: cachetest.Pod("a", cachetest.WithVersion("99"))},
		"a status":            {Type: watch.Added, Object: &metav1.Status{}},
		"version abc":         {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("abc"))},
		"version 0":           {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("0"))},
		"version 007":         {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("007"))},
		"version -5":          {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("-5"))},
		"bookmark abc":        {Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("abc"))},
		"an ERROR of a pod":   {Type: watch.Error, Object: cachetest.Pod("a")},
		"an ERROR of nothing": {Type: watch.Error},
		"an ERROR nil status": {Type: watch.Error, Object: (*metav1.Status)(nil)},
		"an ERROR with 200":   {Type: watch.Error, Object: &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess}},
	}
	for name, event := range bad {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(r *cachetest.Harness) {
				r.ExpectSynced()
				send(r, event)
				r.Update(cachetest.Pod("a"))
				cachetest.Advance(2 * time.Second)
				if requests, _ := r.RequestsSince(1); requests != "watch@4 watch@4" {
					t.Errorf("requests after the list: %s", requests)
				}
				r.ExpectEvents("U a@2→5")
				if len(r.TakeErrors()) != 1 {
					t.Error("want one error reported")
				}
				r.InjectWatchFault(1, fake.Fault{EditEvent: func(watch.Event) []watch.Event { return []watch.Event{event} }})
				send(r, event)
				r.Update(cachetest.Pod("a"))
				cachetest.Advance(10 * time.Second)
				if requests, _ := r.RequestsSince(3); requests != "watch@5 list@5 watch@6" {
					t.Errorf("requests after the second: %s", requests)
				}
				r.ExpectEvents("U a@5→6")
				r.ExpectStored("a@6 b@3 c@4")
			})
		})
	}
}

// send sends an event, even one whose object cannot be copied.
func send(r *cachetest.Harness, event watch.Event) {
	defer func() {
		if recover() != nil {
			r.T.Fatalf("the fake cannot send %v", event)
		}
	}()
	r.Send(event)
}
