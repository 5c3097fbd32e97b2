// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestTruncatedListIsRejected truncates a list at each byte. Nothing is stored before the whole
// list.
func TestTruncatedListIsRejected(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			body := f.Nodes("3", cachetest.Node("a", "1"), cachetest.Node("b", "2"))
			var lists []http.HandlerFunc
			for n := range body {
				lists = append(lists, cachetest.ServeTruncated(f.ListType, body[:n]))
			}
			// A proxy that times out may end half a body without an error.
			checked := make(chan struct{}) // closed when the whole list may be sent
			lists = append(lists, cachetest.Serve(f.ListType, body[:len(body)/2]), waitFor(checked, cachetest.Serve(f.ListType, body)))
			s := cachetest.NewScript(t, lists, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			for n := range len(body) + 1 {
				err := cachetest.Next(t, h.Errors)
				if len(h.Store.List()) > 0 || h.Controller.HasDelivered() {
					t.Fatalf("a list truncated at byte %d was stored, error %v", n, err)
				}
			}
			close(checked)
			h.Expect("A a@1", "A b@2")
			h.ExpectQuiet()
			h.ExpectStreaming()
		})
	}
}

// TestTruncatedWatchResumesAfterTheLastEvent truncates a watch at each byte of three events. It is
// resumed after the last whole event; the other events are delivered once, without an error. The
// resumed watches start before the last eight events, and repeat them.
func TestTruncatedWatchResumesAfterTheLastEvent(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			const listed = 1000 // all versions have four digits, so that all cases have the same length
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes(fmt.Sprint(listed)))}, nil)
			var events, requests []string
			var received [][]byte
			overlap := func() (start string, frames []byte) {
				first := max(0, len(received)-8)
				return fmt.Sprintf("watch@%d", listed+first), slices.Concat(received[first:]...)
			}
			for n := range len(slices.Concat(threeEvents(f, listed)...)) + 1 {
				version := listed + 3*n
				frames := threeEvents(f, version)
				all, whole := slices.Concat(frames...), wholeFrames(f, frames, n)
				first, repeated := overlap()
				part := slices.Concat(repeated, all[:n])
				truncated := cachetest.ServeTruncated(f.WatchType, part)
				if n%2 == 0 { // the response ends without an error, but too early
					truncated = cachetest.Serve(f.WatchType, part)
				}
				received = append(received, frames[:whole]...)
				second, repeated := overlap()
				received = append(received, frames[whole:]...)
				s.Watches = append(s.Watches, truncated, cachetest.Serve(f.WatchType, slices.Concat(repeated, slices.Concat(frames[whole:]...))))
				requests = append(requests, first, second)
				events = append(events, fmt.Sprintf("A b@%d", version+1), fmt.Sprintf("U b@%d→%d", version+1, version+2), fmt.Sprintf("D b@%d", version+3))
			}
			s.Watches = append(s.Watches, s.ServeOpen(f.WatchType, nil))
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			h.Expect(events...)
			cachetest.ExpectNext(t, s.Requests, "list@0")
			cachetest.ExpectNext(t, s.Requests, requests...)
			h.ExpectQuiet()
		})
	}
}

// threeEvents returns the frames of an addition, an update and a deletion, at the versions after
// version.
func threeEvents(f cachetest.Format, version int) [][]byte {
	return [][]byte{
		f.Event(watch.Added, cachetest.Node("b", fmt.Sprint(version+1))),
		f.Event(watch.Modified, cachetest.Node("b", fmt.Sprint(version+2))),
		f.Event(watch.Deleted, cachetest.Node("b", fmt.Sprint(version+3))),
	}
}

// wholeFrames returns how many frames the first n bytes of all frames contain. In JSON, the newline
// at the end of a frame may be missing.
func wholeFrames(f cachetest.Format, frames [][]byte, n int) (whole int) {
	for _, frame := range frames {
		end := len(frame)
		if f.ListType == runtime.ContentTypeJSON {
			end--
		}
		if n < end {
			break
		}
		n -= len(frame)
		whole++
	}
	return whole
}

// TestMalformedWatchIsResumedThenRelisted sends malformed frames in two watches. After the first
// the watch is resumed, after the second a list follows.
func TestMalformedWatchIsResumedThenRelisted(t *testing.T) {
	for name, f := range cachetest.Formats {
		for what, frame := range map[string][]byte{
			"binary": {0, 0, 0, 3, 0xff, 0xff, 0xff},
			"text":   []byte("<html>502 Bad Gateway</html>"),
			"a list": f.Nodes("9"),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				s := cachetest.NewScript(t, []http.HandlerFunc{
					cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))),
					cachetest.Serve(f.ListType, f.Nodes("8", cachetest.Node("a", "1"))),
				}, nil)
				s.Watches = []http.HandlerFunc{
					cachetest.Serve(f.WatchType, slices.Concat(f.Event(watch.Added, cachetest.Node("b", "4")), frame)),
					cachetest.Serve(f.WatchType, frame),
					s.ServeOpen(f.WatchType, nil),
				}
				h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
				h.Expect("A a@1", "A b@4", "D b@4")
				cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "watch@3", "list@4", "watch@8")
				h.ExpectError()
				h.ExpectError()
			})
		}
	}
}

// TestMalformedListIsRetried responds to a list with something else. The error says what was
// received.
func TestMalformedListIsRetried(t *testing.T) {
	f := cachetest.Formats["JSON"]
	whole := f.Nodes("3", cachetest.Node("a", "1"))
	node := &corev1.Node{TypeMeta: cachetest.TypeMeta("Node"), ObjectMeta: cachetest.Node("a", "1").ObjectMeta}
	table := []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`)
	forbidden := []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"set by the test","code":403}`)
	for what, test := range map[string]struct {
		response http.HandlerFunc
		text     string // part of the error
		reason   string // part of Status.Requests.NotStreamingReason
	}{
		"HTML":            {cachetest.Serve("text/html", []byte("<html>log in</html>")), "", "text/html"},
		"HTML as JSON":    {cachetest.Serve(f.ListType, []byte("<html>log in</html>")), "begins with '<'", ""},
		"empty":           {cachetest.Serve(f.ListType, nil), "", ""},
		"204":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", ""},
		"a Table":         {cachetest.Serve(f.ListType+";as=Table;v=v1;g=meta.k8s.io", table), "", "as=Table"},
		"a Table as JSON": {cachetest.Serve(f.ListType, table), "Table", ""},
		"other objects":   {cachetest.Serve(f.ListType, []byte(strings.ReplaceAll(string(whole), "NodeList", "PodList"))), "Pod", ""},
		"one object":      {cachetest.Serve(f.ListType, f.Encode(node)), "Node", ""},
		"a Status":        {cachetest.Serve(f.ListType, forbidden), "set by the test", ""},
		"two lists":       {cachetest.Serve(f.ListType, append(slices.Clone(whole), whole...)), "", ""},
		"a wrong length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", f.ListType)
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(whole)
		}, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := cachetest.NewScript(t, []http.HandlerFunc{test.response, cachetest.Serve(f.ListType, whole)}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			reasons := make(chan string, 1)
			var controller *cachetest.Informer[*corev1.Node]
			ready := make(chan struct{})
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{}, func(o *cache.ReflectorOptions) {
				report := o.ErrorHandler
				o.ErrorHandler = func(ctx context.Context, err error) {
					<-ready
					reasons <- controller.Status().Requests.NotStreamingReason
					report(ctx, err)
				}
			})
			controller = h.Controller
			close(ready)
			if err := cachetest.Next(t, h.Errors); !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v", err)
			}
			if reason := cachetest.Next(t, reasons); !strings.Contains(reason, test.reason) || (reason == "") != (test.reason == "") {
				t.Errorf("NotStreamingReason %q, want %q", reason, test.reason)
			}
			h.Expect("A a@1")
			cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3")
			h.ExpectQuiet()
			h.ExpectStreaming()
		})
	}
}
