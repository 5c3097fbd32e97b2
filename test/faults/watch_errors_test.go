// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// After an error that does not put the version in doubt, the watch is resumed without a list.
func TestWatchResumesAfterError(t *testing.T) {
	faults := map[string]error{
		"429":                fake.TooManyRequests(0),
		"429 after 7 s":      fake.TooManyRequests(7),
		"503":                apierrors.NewServiceUnavailable("starting"),
		"500":                fake.InternalError(),
		"504":                apierrors.NewTimeoutError("slow", 0),
		"server timeout":     apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "watch", 1),
		"504, too large":     fake.TooLargeResourceVersion(),
		"401":                apierrors.NewUnauthorized("token expired"),
		"403":                fake.Forbidden(),
		"connection refused": fmt.Errorf("dial tcp 127.0.0.1:1: %w", cachetest.ErrConnectionRefused),
		"connection reset":   fmt.Errorf("read tcp: %w", cachetest.ErrConnectionReset),
		"GOAWAY":             errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1"),
		"HTTP/2 lost":        errors.New("http2: client connection lost"),
		"no such host":       cachetest.ErrNoSuchHost,
		"an unknown error":   errors.New("unknown"),
	}
	for name, fault := range faults {
		for _, inStream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in the stream: %v", name, inStream), func(t *testing.T) {
				cachetest.InBubble(t, func(h *cachetest.Harness) {
					h.ExpectSynced()
					if inStream {
						h.Send(fake.ErrorEvent(fault))
					} else {
						h.InjectWatchFault(1, fake.Fault{Err: fault})
						h.CloseWatches()
					}
					h.Update(cachetest.Pod("a"))
					cachetest.Advance(20 * time.Second)
					if requests, _ := h.RequestsSince(1); inStream && requests != "watch@4 watch@4" || !inStream && requests != "watch@4 watch@4 watch@4" {
						t.Errorf("requests after the list: %s", requests)
					}
					h.ExpectEvents("U a@2→5")
					if status := h.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching {
						t.Errorf("status after recovery: %+v", status)
					}
					if len(h.TakeErrors()) != 1 {
						t.Error("want one error reported")
					}
				})
			})
		}
	}
}

// A Status is an error of the server whatever the type of its event. A mistyped 410 is followed by
// a list, not by a watch that fails again.
func TestMistypedStatusEndsTheWatchWithItsError(t *testing.T) {
	untyped := func(status *metav1.Status) runtime.Object {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
		if err != nil {
			panic(err)
		}
		return &unstructured.Unstructured{Object: content}
	}
	for _, eventType := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		for name, convert := range map[string]func(*metav1.Status) runtime.Object{
			"typed": func(status *metav1.Status) runtime.Object { return status }, "unstructured": untyped,
		} {
			t.Run(string(eventType)+" "+name, func(t *testing.T) {
				cachetest.InBubble(t, func(h *cachetest.Harness) {
					h.ExpectSynced()
					status := apierrors.NewResourceExpired("too old").Status()
					status.TypeMeta = cachetest.TypeMeta("Status")
					h.Send(watch.Event{Type: eventType, Object: convert(&status)})
					h.ExpectError(apierrors.IsResourceExpired)
					cachetest.Advance(10 * time.Second)
					h.ExpectRequests(0, "list@0 watch@4 list@4 watch@4")
				})
			})
		}
	}
}

// A server that is busy or unreachable, or refuses the client, does not put the stored state in
// doubt, however often the watch fails.
func TestUnavailableServerIsNotListed(t *testing.T) {
	for name, fault := range map[string]error{
		"429": fake.TooManyRequests(1), "503": apierrors.NewServiceUnavailable("starting"), "504": apierrors.NewTimeoutError("slow", 0),
		"401": apierrors.NewUnauthorized("token expired"), "403": fake.Forbidden(),
		"connection refused": cachetest.ErrConnectionRefused, "connection reset": cachetest.ErrConnectionReset,
		"no such host": cachetest.ErrNoSuchHost, "truncated": io.ErrUnexpectedEOF,
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				h.InjectWatchFault(9, fake.Fault{Err: fault})
				h.CloseWatches()
				cachetest.Advance(5 * time.Minute)
				requests, _ := h.RequestsSince(0)
				if want := "list@0" + strings.Repeat(" watch@4", 11); strings.TrimSuffix(requests, " list@") != want { // the probe of a quiet watch
					t.Errorf("requests [%s], want [%s]", requests, want)
				}
			})
		})
	}
}

// The next watch follows after the Retry-After, of which at most five minutes count.
func TestRetryAfterIsHonored(t *testing.T) {
	for seconds, want := range map[int][2]time.Duration{
		0:             {800 * time.Millisecond, 1200 * time.Millisecond},
		-3:            {800 * time.Millisecond, 1200 * time.Millisecond},
		7:             {7 * time.Second, 11 * time.Second},
		1_000_000_000: {5 * time.Minute, 8 * time.Minute},
	} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				began := time.Now()
				h.Send(fake.ErrorEvent(fake.TooManyRequests(seconds)))
				cachetest.Advance(10 * time.Minute)
				requests := h.Requests()
				if waited := requests[2].Time.Sub(began); waited < want[0] || waited > want[1] {
					t.Errorf("waited %v, want %v to %v", waited, want[0], want[1])
				}
			})
		})
	}
}

// Clients that receive the same Retry-After do not return at once.
func TestRetryAfterIsJittered(t *testing.T) {
	waits := make(map[time.Duration]bool)
	for range 5 {
		cachetest.InBubble(t, func(h *cachetest.Harness) {
			began := time.Now()
			h.Send(fake.ErrorEvent(fake.TooManyRequests(30)))
			cachetest.Advance(time.Minute)
			waits[h.Requests()[2].Time.Sub(began)] = true
		})
	}
	if len(waits) < 2 {
		t.Errorf("five clients waited %v", waits)
	}
}

// The server may fail at one version only, so that a list helps where a retry does not.
func TestRepeatedServerErrorsCauseRelist(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(5, fake.Fault{Err: fake.InternalError()})
		h.CloseWatches()
		h.Delete("ns/b")
		cachetest.Advance(2 * time.Minute)
		h.ExpectRequests(0, "list@0 watch@4 watch@4 watch@4 watch@4 watch@4 watch@4 list@4 watch@5")
		h.ExpectEvents("D b@3")
	})
}

// A client that loses its permissions keeps its state, returns the error in Status, makes no list,
// and continues once it has the permissions again.
func TestForbiddenWatchKeepsStateAndRecovers(t *testing.T) {
	for name, fault := range map[string]error{"401": apierrors.NewUnauthorized("token expired"), "403": fake.Forbidden()} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				lost := time.Now()
				h.InjectWatchFault(-1, fake.Fault{Err: fault})
				h.CloseWatches()
				cachetest.Advance(time.Hour)
				for _, request := range h.Requests()[1:] {
					if request.Verb == "list" {
						t.Fatal("list request after an authorization error")
					}
				}
				h.ExpectRates(lost.Add(2 * time.Minute))
				status := h.Controller.Status()
				if status.Phase != cache.PhaseRetrying || !errors.Is(status.Err, fault) || status.FailedAttempts < 100 || status.ErrSince.Sub(lost) > 10*time.Second {
					t.Errorf("status without permissions: %+v, since %v", status, status.ErrSince.Sub(lost))
				}
				if status.Freshness.FreshAt.After(lost) {
					t.Errorf("FreshAt is %v after the loss of permissions", status.Freshness.FreshAt.Sub(lost))
				}
				h.ExpectStored("a@2 b@3 c@4")
				h.ClearFaults()
				h.Update(cachetest.Pod("c"))
				cachetest.Advance(30 * time.Second)
				h.ExpectEvents("U c@4→5")
				if status := h.Controller.Status(); status.Err != nil || status.FailedAttempts != 0 || !status.ErrSince.IsZero() {
					t.Errorf("status after recovery: %+v", status)
				}
			})
		})
	}
}
