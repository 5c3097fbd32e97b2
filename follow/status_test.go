// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// withoutAPIServices makes a server answer as one that does not serve APIServices.
func withoutAPIServices(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if strings.Contains(request.URL.Path, "/apiregistration.k8s.io/") {
			_ = response.Body.Close()
			response.StatusCode, response.Body = http.StatusNotFound, io.NopCloser(strings.NewReader("404 page not found"))
			return response, nil
		}
		if request.URL.Path == "/apis" {
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return nil, err
			}
			body = bytes.ReplaceAll(body, []byte("apiregistration.k8s.io"), []byte("other.example.com"))
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		return response, nil
	})
}

// Where there are no APIServices, informers follow the definitions, and the status says what is
// missing.
func TestServerWithoutAPIServices(t *testing.T) {
	inBubble(t, func(config *rest.Config) { config.Wrap(withoutAPIServices) }, func(t *testing.T, h *harness) {
		informer := h.newWidgets()
		h.start(h.follower.Run, informer.Run)
		after(time.Minute)
		for range 2 {
			if phase := informer.Status().Phase; phase != cache.PhaseNotServed {
				t.Errorf("phase %s without a definition", phase)
			}
			noError(t, h.server.Create(definition()))
			after(5 * time.Second)
			if phase := informer.Status().Phase; phase != cache.PhaseWatching {
				t.Errorf("phase %s with a definition", phase)
			}
			noError(t, h.server.Delete(definition()))
			after(5 * time.Second)
		}
		if err := h.follower.Status().Err; !apierrors.IsNotFound(err) {
			t.Errorf("error %v in the status, want NotFound", err)
		}
	})
}

// A 404 of a resource that discovery lists is that of a server that starts: the follower does not
// observe.
func TestUnconfirmedAbsenceOfAPIServices(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.server.InjectFault(-1, of("apiservices"), fake.Fault{Err: apierrors.NewNotFound(widgets.GroupResource(), "")})
		informer := h.newWidgets()
		h.start(h.follower.Run, informer.Run)
		after(time.Minute)
		if phase := informer.Status().Phase; phase != cache.PhaseRetrying {
			t.Errorf("phase %s, want Retrying", phase)
		}
	})
}

// The status counts requests by their results. A request that has failed is repeated within 64 s.
func TestStatusCountsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		h := newHarness(t, func(config *rest.Config) {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(request *http.Request) (*http.Response, error) {
					if fails.Load() && request.URL.Path == "/apis" {
						return nil, errors.New("no connection")
					}
					return next.RoundTrip(request)
				})
			})
		})
		h.start(h.follower.Run)
		after(time.Hour)
		before := h.follower.Status()
		if before.Err != nil || before.Changed != 1 || before.Unchanged != before.Requests-1 || before.Failed != 0 {
			t.Errorf("status %+v after an hour without a change", before)
		}
		if age := time.Since(before.AnsweredAt); age > 10*time.Minute {
			t.Errorf("answered %v ago", age)
		}
		fails.Store(true)
		after(time.Hour)
		failed := h.follower.Status()
		if n := failed.Failed; failed.Err == nil || n < 50 || n != failed.Requests-before.Requests && n != failed.Requests-before.Requests-1 {
			t.Errorf("status %+v after an hour of failures, %+v before", failed, before)
		}
		if age := time.Since(failed.AnsweredAt); age < 50*time.Minute {
			t.Errorf("answered %v ago, in an hour of failures", age)
		}
		fails.Store(false)
		after(65 * time.Second)
		if status := h.follower.Status(); status.Err != nil || status.Failed > failed.Failed || time.Since(status.AnsweredAt) > 65*time.Second {
			t.Errorf("status %+v after the failures", status)
		}
	})
}

// Nothing is left of a resource that was waited for.
func TestWaitForServedLeavesNothing(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		h.start(h.follower.Run)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := h.follower.WaitForServed(ctx, widgets); !errors.Is(err, cache.ErrNotServed) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		h.wantNoneOwned()
	})
}

// What a server without aggregated discovery has said of a group is not kept while no part of the
// program follows it: a definition that is created meanwhile would never be found.
func TestVersionThatNobodyFollowedIsAskedForAgain(t *testing.T) {
	inBubble(t, func(config *rest.Config) { config.Wrap(withoutAggregation) }, func(t *testing.T, h *harness) {
		h.start(h.follower.Run)
		h.define("Widget", "v1")
		after(time.Minute)
		noError(t, h.follower.WaitForServed(t.Context(), widgets))
		after(5 * time.Minute)
		h.define("Gadget", "v1")
		after(5 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		noError(t, h.follower.WaitForServed(ctx, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}))
	})
}

// The last answer for a version is not kept if a later request fails: it may list a resource that
// is deleted.
func TestFailedDiscoveryOfVersionIsNotRepeatedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		h := newHarness(t, func(config *rest.Config) {
			config.Wrap(withoutAggregation)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if fails.Load() && r.URL.Path == "/apis/example.com/v1" {
						return nil, errors.New("broken")
					}
					return next.RoundTrip(r)
				})
			})
		})
		h.define("Gadget", "v1")
		widget := h.define("Widget", "v1")
		all := h.run(h.options(ofExample))
		after(10 * time.Minute)
		fails.Store(true)
		noError(t, h.server.Delete(widget))
		after(4 * time.Minute)
		fails.Store(false)
		after(10 * time.Minute)
		before := h.follower.Status().Requests
		after(time.Hour)
		if n := h.follower.Status().Requests - before; n > 20 {
			t.Errorf("got %d discovery requests in an hour without a change", n)
		}
		wantFollowed(t, "after the deletion", all, "example.com/v1 gadgets")
	})
}

// The cause of a request without a response precedes its URL.
func TestCausePrecedesURL(t *testing.T) {
	refuse := func(config *rest.Config) {
		config.Wrap(func(http.RoundTripper) http.RoundTripper {
			return roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") })
		})
	}
	inBubble(t, refuse, func(t *testing.T, h *harness) {
		h.start(h.follower.Run)
		after(time.Second)
		if text := h.follower.Status().Err.Error(); !strings.HasPrefix(text, "refused (Get \"http") {
			t.Errorf("the status has %s", text)
		}
	})
}
