// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// responseErrors are the errors of API servers, by code and reason.
var responseErrors = map[string]struct {
	code   int
	reason metav1.StatusReason
	is     func(error) bool
	relist bool // a watch that fails with it is followed by a list
}{
	"401":                  {401, metav1.StatusReasonUnauthorized, apierrors.IsUnauthorized, false},
	"403":                  {403, metav1.StatusReasonForbidden, apierrors.IsForbidden, false},
	"429":                  {429, metav1.StatusReasonTooManyRequests, apierrors.IsTooManyRequests, false},
	"500":                  {500, metav1.StatusReasonInternalError, apierrors.IsInternalError, false},
	"503":                  {503, metav1.StatusReasonServiceUnavailable, apierrors.IsServiceUnavailable, false},
	"410 Gone":             {410, metav1.StatusReasonGone, apierrors.IsGone, true},
	"410 Expired":          {410, metav1.StatusReasonExpired, apierrors.IsResourceExpired, true},
	"500 without a reason": {500, "", func(err error) bool { return err != nil }, false},
}

// TestStreamedListErrorIsReported responds to a list with an error. The reported error is the
// server's, and the list is retried.
func TestStreamedListErrorIsReported(t *testing.T) {
	f := cachetest.Formats["protobuf"]
	for name, failure := range responseErrors {
		t.Run(name, func(t *testing.T) {
			whole := cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.ServeStatus(failure.code, "", string(failure.reason)), whole}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			h.Expect("A a@1")
			cachetest.ExpectNext(t, s.Requests, "list@0")
			if strings.HasPrefix(name, "410") { // retried at once, without a version
				cachetest.ExpectNext(t, s.Requests, "list@", "watch@3")
				h.ExpectQuiet()
				return
			}
			cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3")
			if err := cachetest.Next(t, h.Errors); !failure.is(err) {
				t.Errorf("error %v", err)
			}
			h.ExpectStreaming()
		})
	}
}

// TestStreamedWatchErrorIsReported sends an error as the response to a watch, as an event of its
// stream, and as an event of another type. All are reported the same.
func TestStreamedWatchErrorIsReported(t *testing.T) {
	for name, failure := range responseErrors {
		for formatName, f := range cachetest.Formats {
			status := &metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure, Code: int32(failure.code), Reason: failure.reason,
			}
			for carrier, response := range map[string]http.HandlerFunc{
				"as the response": cachetest.ServeStatus(failure.code, "", string(failure.reason)),
				"as an event":     cachetest.Serve(f.WatchType, f.Event(watch.Error, status)),
				"as ADDED":        cachetest.Serve(f.WatchType, f.Event(watch.Added, status)),
				"as MODIFIED":     cachetest.Serve(f.WatchType, f.Event(watch.Modified, status)),
				"as DELETED":      cachetest.Serve(f.WatchType, f.Event(watch.Deleted, status)),
				"as BOOKMARK":     cachetest.Serve(f.WatchType, f.Event(watch.Bookmark, status)),
			} {
				t.Run(name+" "+formatName+" "+carrier, func(t *testing.T) {
					s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
					s.Watches = []http.HandlerFunc{response, s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
					h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
					h.Expect("A a@1", "A b@4")
					if err := cachetest.Next(t, h.Errors); !failure.is(err) {
						t.Errorf("error %v", err)
					}
					cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3")
					if failure.relist {
						cachetest.ExpectNext(t, s.Requests, "list@3")
					}
					cachetest.ExpectNext(t, s.Requests, "watch@3")
					h.ExpectQuiet()
				})
			}
		}
	}
}

// TestInformerHonorsRetryAfterInsteadOfTheClient responds with a Retry-After. client-go would retry
// ten times; with streaming it makes one request, and the informer waits.
func TestInformerHonorsRetryAfterInsteadOfTheClient(t *testing.T) {
	f := cachetest.Formats["JSON"]
	for _, code := range []int{429, 500, 503} {
		for taps := 1; taps <= 2; taps++ {
			t.Run(fmt.Sprintf("%d, EnableStreaming called %d times", code, taps), func(t *testing.T) {
				s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.ServeStatus(code, "4"), cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
				s.Watches = []http.HandlerFunc{cachetest.ServeStatus(code, "5"), s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
				config := s.Config()
				if taps == 2 {
					cache.EnableStreaming(config)
				}
				h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
				h.Expect("A a@1", "A b@4")
				cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3", "watch@3")
				for _, retryAfter := range []time.Duration{4 * time.Second, 5 * time.Second} {
					if waited := cachetest.Next(t, h.Clock.Waits); waited < retryAfter || waited > 2*retryAfter {
						t.Errorf("waited %v after a Retry-After of %v", waited, retryAfter)
					}
				}
			})
		}
	}
}

// TestUnreachableServerLeavesStreamingUnknown checks that a request without a response is no reason
// for not streaming.
func TestUnreachableServerLeavesStreamingUnknown(t *testing.T) {
	s := cachetest.NewScript(t, nil, nil)
	config := s.Config()
	s.Close()
	h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
	if err := cachetest.Next(t, h.Errors); !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
	if s := h.Controller.Status(); s.Requests.NotStreamingReason != "" {
		t.Errorf("not streaming: %s", s.Requests.NotStreamingReason)
	}
}

// TestStreamedWatchList reads the initial state from the stream of a watch.
func TestStreamedWatchList(t *testing.T) {
	watchList := func(o *cache.ReflectorOptions) { o.WatchList = true }
	t.Run("from an API server", func(t *testing.T) {
		f, config := cachetest.NewProxy(t, false)
		a := cachetest.Node("a", "")
		cachetest.Must(t, f.API.Create, a)
		h := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{}, watchList)
		h.Expect("A " + cachetest.NameAtVersion(a))
		b := cachetest.Node("b", "")
		cachetest.Must(t, f.API.Create, b)
		h.Expect("A " + cachetest.NameAtVersion(b))
		if s := h.Controller.Status(); s.Requests.Lists != 0 || s.Requests.Watches != 1 {
			t.Errorf("%d lists, %d watches", s.Requests.Lists, s.Requests.Watches)
		}
		h.ExpectStreaming()
	})
	for name, f := range cachetest.Formats {
		for value, ends := range map[string]bool{"true": true, "false": false, "": false} {
			t.Run(fmt.Sprintf("%s, end bookmark %q", name, value), func(t *testing.T) {
				bookmark := cachetest.Node("", "5")
				bookmark.UID, bookmark.Annotations = "", map[string]string{metav1.InitialEventsAnnotationKey: value}
				s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("5", cachetest.Node("b", "4")))}, nil)
				initial := cachetest.Serve(f.WatchType, slices.Concat(f.Event(watch.Added, cachetest.Node("a", "3")), f.Event(watch.Bookmark, bookmark)))
				s.Watches = []http.HandlerFunc{initial, initial, s.ServeOpen(f.WatchType, nil)}
				h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{}, watchList)
				if ends {
					h.Expect("A a@3")
					return
				}
				h.Expect("A b@4") // from the list
				cachetest.ExpectNext(t, s.Requests, "watch@", "watch@", "list@0", "watch@5")
			})
		}
	}
}

// TestBrokenConnectionsAreNotLoggedByTheClient checks that client-go logs neither truncated bodies
// nor cancelled requests.
func TestBrokenConnectionsAreNotLoggedByTheClient(t *testing.T) {
	var log logBuffer
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	defer func() {
		klog.SetOutput(nil)
		klog.LogToStderr(true)
	}()
	f := cachetest.Formats["protobuf"]
	list, event := f.Nodes("3", cachetest.Node("a", "1")), f.Event(watch.Added, cachetest.Node("b", "4"))
	s := cachetest.NewScript(t, []http.HandlerFunc{
		cachetest.ServeTruncated(f.ListType, list[:20]),
		cachetest.ServeTruncated(f.ListType, list[:len(list)-1]),
		cachetest.Serve(f.ListType, list),
	}, nil)
	s.Watches = []http.HandlerFunc{cachetest.ServeTruncated(f.WatchType, event[:20]), cachetest.ServeTruncated(f.WatchType, nil), s.ServeOpen(f.WatchType, event)}
	h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
	h.Expect("A a@1", "A b@4")
	h.End()
	h = cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
	h.Expect("A a@1", "A b@4")
	for len(s.Requests) > 0 {
		<-s.Requests
	}
	s.CloseClientConnections()
	expectNoEventUntil(h, s.Requests, "watch@3") // repeats the event
	h.End()
	klog.Flush()
	if logged := log.String(); logged != "" {
		t.Errorf("logged %s", logged)
	}
}

// expectNoEventUntil checks that no event was delivered before a request.
func expectNoEventUntil[T cache.Object](h *cachetest.NetworkHarness[T], requests <-chan string, want string) {
	h.T.Helper()
	for cachetest.Next(h.T, requests) != want {
	}
	select {
	case event := <-h.Events:
		h.T.Errorf("event %s", event)
	default:
	}
}
