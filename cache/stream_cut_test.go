package cache_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
)

// TestListCutAtEveryByte lists from a server that breaks off one byte later each
// time. Until it does no more, nothing of what came is to be seen.
func TestListCutAtEveryByte(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			body := f.nodes("3", aNode("a", "1"), aNode("b", "2"))
			var lists []http.HandlerFunc
			for n := range body {
				lists = append(lists, serveCut(f.list, body[:n]))
			}
			// Half of a body that ends like a whole one, as a proxy's timeout makes it.
			looked := make(chan struct{}) // closed once nobody minds that the whole list comes
			lists = append(lists, serve(f.list, body[:len(body)/2]), func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-looked:
				case <-r.Context().Done():
				}
				serve(f.list, body)(w, r)
			})
			s := newScript(t, lists, nil)
			s.watches = []http.HandlerFunc{s.serveOpen(f.watch, nil)}
			r := runOver(t, nodesOf(s.config()), &corev1.Node{})
			for n := range len(body) + 1 {
				err := next(t, r.errs)
				if len(r.store.List()) > 0 || r.controller.HasSynced() {
					t.Fatalf("something of a list cut at byte %d was applied, after %v", n, err)
				}
			}
			close(looked)
			r.expect("A a@1", "A b@2")
			r.expectQuiet()
			r.expectStreaming()
		})
	}
}

// TestWatchCutAtEveryByte breaks a watch off at each byte of three events. It is
// resumed behind the last whole one, and nobody notices.
func TestWatchCutAtEveryByte(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			frames := [][]byte{
				f.event(watch.Added, aNode("b", "4")),
				f.event(watch.Modified, aNode("b", "5")),
				f.event(watch.Deleted, aNode("b", "6")),
			}
			all := slices.Concat(frames...)
			for n := range len(all) + 1 {
				whole := wholeFrames(f, frames, n)
				s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("3", aNode("a", "1")))}, nil)
				s.watches = []http.HandlerFunc{
					serveCut(f.watch, all[:n]),
					s.serveOpen(f.watch, slices.Concat(frames[whole:]...)),
				}
				if n%2 == 0 { // a connection that ends in order, if too early
					s.watches[0] = serve(f.watch, all[:n])
				}
				r := runOver(t, nodesOf(s.config()), &corev1.Node{})
				r.expect("A a@1", "A b@4", "U b@4→5", "D b@6")
				expectNext(t, s.requests, "list@0", "watch@3", fmt.Sprintf("watch@%d", 3+whole))
				r.expectQuiet()
				r.end()
				s.CloseClientConnections()
			}
		})
	}
}

// wholeFrames returns how many frames there are in their first n bytes. In JSON
// they need not have the line's end.
func wholeFrames(f format, frames [][]byte, n int) (whole int) {
	for _, frame := range frames {
		end := len(frame)
		if f.list == runtime.ContentTypeJSON {
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

// TestWatchThatMakesNoSense is resumed once, and listed anew the second time.
func TestWatchThatMakesNoSense(t *testing.T) {
	for name, f := range formats {
		for what, garbage := range map[string][]byte{
			"binary":           {0, 0, 0, 3, 0xff, 0xff, 0xff},
			"text":             []byte("<html>502 Bad Gateway</html>"),
			"a list":           f.nodes("9"),
			"another kind":     f.frame(watch.Added, f.encode(&corev1.Pod{TypeMeta: ofKind("Pod"), ObjectMeta: aNode("x", "7").ObjectMeta})),
			"no kind":          f.frame(watch.Added, f.encode(&corev1.Node{ObjectMeta: aNode("x", "7").ObjectMeta})),
			"an unknown event": f.frame("PATCHED", f.encode(&corev1.Node{TypeMeta: ofKind("Node"), ObjectMeta: aNode("x", "7").ObjectMeta})),
			"no name":          f.event(watch.Added, aNode("", "7")),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("3", aNode("a", "1"))), serve(f.list, f.nodes("8", aNode("a", "1")))}, nil)
				s.watches = []http.HandlerFunc{
					serve(f.watch, slices.Concat(f.event(watch.Added, aNode("b", "4")), garbage)),
					serve(f.watch, garbage),
					s.serveOpen(f.watch, nil),
				}
				r := runOver(t, nodesOf(s.config()), &corev1.Node{})
				r.expect("A a@1", "A b@4", "D b@4")
				expectNext(t, s.requests, "list@0", "watch@3", "watch@4", "list@4", "watch@8")
				r.expectError()
				r.expectError()
			})
		}
	}
}

// TestListThatMakesNoSense is no list: it is tried again, and says what came.
func TestListThatMakesNoSense(t *testing.T) {
	f := formats["JSON"]
	whole := f.nodes("3", aNode("a", "1"))
	for what, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
		why    string // that it is not streamed
	}{
		"HTML":            {serve("text/html", []byte("<html>log in</html>")), "", "text/html"},
		"HTML as JSON":    {serve(f.list, []byte("<html>log in</html>")), "<html>", ""},
		"empty":           {serve(f.list, nil), "", ""},
		"204":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", ""},
		"a Table":         {serve(f.list+";as=Table;v=v1;g=meta.k8s.io", []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`)), "", "as=Table"},
		"a Table as JSON": {serve(f.list, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`)), "Table", ""},
		"other objects":   {serve(f.list, []byte(strings.ReplaceAll(string(whole), "NodeList", "PodList"))), "Pod", ""},
		"one object":      {serve(f.list, f.encode(&corev1.Node{TypeMeta: ofKind("Node"), ObjectMeta: aNode("a", "1").ObjectMeta})), "Node", ""},
		"a Status":        {serve(f.list, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`)), "not for you", ""},
		"two lists":       {serve(f.list, append(slices.Clone(whole), whole...)), "", ""},
		"no name":         {serve(f.list, f.nodes("3", aNode("a", "1"), aNode("", "2"))), "item 1", ""},
		"a wrong length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", f.list)
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(whole)
		}, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScript(t, []http.HandlerFunc{test.answer, serve(f.list, whole)}, nil)
			s.watches = []http.HandlerFunc{s.serveOpen(f.watch, nil)}
			reasons := make(chan string, 1)
			var controller *cache.Controller
			ready := make(chan struct{})
			r := runOver(t, nodesOf(s.config()), &corev1.Node{}, func(o *cache.ReflectorOptions) {
				report := o.ErrorHandler
				o.ErrorHandler = func(ctx context.Context, err error) {
					<-ready
					reasons <- controller.Status().NotStreamingReason
					report(ctx, err)
				}
			})
			controller = r.controller
			close(ready)
			if err := next(t, r.errs); !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v", err)
			}
			if why := next(t, reasons); !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
				t.Errorf("not streaming: %q, want %q", why, test.why)
			}
			r.expect("A a@1")
			expectNext(t, s.requests, "list@0", "list@0", "watch@3")
			r.expectQuiet()
			r.expectStreaming()
		})
	}
}

func ofKind(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }
