package faults_test

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
	"github.com/kinformer/kinformer/internal/cachetest"
)

// TestListCutAtEveryByte lists from a server that breaks off one byte later each
// time. Until it does no more, nothing of what came is to be seen.
func TestListCutAtEveryByte(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			body := f.Nodes("3", cachetest.Node("a", "1"), cachetest.Node("b", "2"))
			var lists []http.HandlerFunc
			for n := range body {
				lists = append(lists, cachetest.ServeTruncated(f.ListType, body[:n]))
			}
			// Half of a body that ends like a whole one, as a proxy's timeout makes it.
			looked := make(chan struct{}) // closed once nobody minds that the whole list comes
			lists = append(lists, cachetest.Serve(f.ListType, body[:len(body)/2]), func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-looked:
				case <-r.Context().Done():
				}
				cachetest.Serve(f.ListType, body)(w, r)
			})
			s := cachetest.NewScript(t, lists, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			for n := range len(body) + 1 {
				err := cachetest.Next(t, r.Errors)
				if len(r.Store.List()) > 0 || r.Controller.HasSynced() {
					t.Fatalf("something of a list cut at byte %d was applied, after %v", n, err)
				}
			}
			close(looked)
			r.Expect("A a@1", "A b@2")
			r.ExpectQuiet()
			r.ExpectStreaming()
		})
	}
}

// TestWatchCutAtEveryByte breaks a watch off at each byte of three events. It is
// resumed behind the last whole one, and nobody notices.
func TestWatchCutAtEveryByte(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			frames := [][]byte{
				f.Event(watch.Added, cachetest.Node("b", "4")),
				f.Event(watch.Modified, cachetest.Node("b", "5")),
				f.Event(watch.Deleted, cachetest.Node("b", "6")),
			}
			all := slices.Concat(frames...)
			for n := range len(all) + 1 {
				whole := wholeFrames(f, frames, n)
				s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
				s.Watches = []http.HandlerFunc{
					cachetest.ServeTruncated(f.WatchType, all[:n]),
					s.ServeOpen(f.WatchType, slices.Concat(frames[whole:]...)),
				}
				if n%2 == 0 { // a connection that ends in order, if too early
					s.Watches[0] = cachetest.Serve(f.WatchType, all[:n])
				}
				r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
				r.Expect("A a@1", "A b@4", "U b@4→5", "D b@6")
				cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", fmt.Sprintf("watch@%d", 3+whole))
				r.ExpectQuiet()
				r.End()
				s.CloseClientConnections()
			}
		})
	}
}

// wholeFrames returns how many frames there are in their first n bytes. In JSON
// they need not have the line's end.
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

// TestWatchThatMakesNoSense is resumed once, and listed anew the second time.
func TestWatchThatMakesNoSense(t *testing.T) {
	for name, f := range cachetest.Formats {
		for what, garbage := range map[string][]byte{
			"binary":           {0, 0, 0, 3, 0xff, 0xff, 0xff},
			"text":             []byte("<html>502 Bad Gateway</html>"),
			"a list":           f.Nodes("9"),
			"another kind":     f.Frame(watch.Added, f.Encode(&corev1.Pod{TypeMeta: ofKind("Pod"), ObjectMeta: cachetest.Node("x", "7").ObjectMeta})),
			"no kind":          f.Frame(watch.Added, f.Encode(&corev1.Node{ObjectMeta: cachetest.Node("x", "7").ObjectMeta})),
			"an unknown event": f.Frame("PATCHED", f.Encode(&corev1.Node{TypeMeta: ofKind("Node"), ObjectMeta: cachetest.Node("x", "7").ObjectMeta})),
			"no name":          f.Event(watch.Added, cachetest.Node("", "7")),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))), cachetest.Serve(f.ListType, f.Nodes("8", cachetest.Node("a", "1")))}, nil)
				s.Watches = []http.HandlerFunc{
					cachetest.Serve(f.WatchType, slices.Concat(f.Event(watch.Added, cachetest.Node("b", "4")), garbage)),
					cachetest.Serve(f.WatchType, garbage),
					s.ServeOpen(f.WatchType, nil),
				}
				r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
				r.Expect("A a@1", "A b@4", "D b@4")
				cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "watch@4", "list@4", "watch@8")
				r.ExpectError()
				r.ExpectError()
			})
		}
	}
}

// TestListThatMakesNoSense is no list: it is tried again, and says what came.
func TestListThatMakesNoSense(t *testing.T) {
	f := cachetest.Formats["JSON"]
	whole := f.Nodes("3", cachetest.Node("a", "1"))
	for what, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
		why    string // that it is not streamed
	}{
		"HTML":            {cachetest.Serve("text/html", []byte("<html>log in</html>")), "", "text/html"},
		"HTML as JSON":    {cachetest.Serve(f.ListType, []byte("<html>log in</html>")), "<html>", ""},
		"empty":           {cachetest.Serve(f.ListType, nil), "", ""},
		"204":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", ""},
		"a Table":         {cachetest.Serve(f.ListType+";as=Table;v=v1;g=meta.k8s.io", []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`)), "", "as=Table"},
		"a Table as JSON": {cachetest.Serve(f.ListType, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`)), "Table", ""},
		"other objects":   {cachetest.Serve(f.ListType, []byte(strings.ReplaceAll(string(whole), "NodeList", "PodList"))), "Pod", ""},
		"one object":      {cachetest.Serve(f.ListType, f.Encode(&corev1.Node{TypeMeta: ofKind("Node"), ObjectMeta: cachetest.Node("a", "1").ObjectMeta})), "Node", ""},
		"a Status":        {cachetest.Serve(f.ListType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`)), "not for you", ""},
		"two lists":       {cachetest.Serve(f.ListType, append(slices.Clone(whole), whole...)), "", ""},
		"no name":         {cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"), cachetest.Node("", "2"))), "item 1", ""},
		"a wrong length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", f.ListType)
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(whole)
		}, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := cachetest.NewScript(t, []http.HandlerFunc{test.answer, cachetest.Serve(f.ListType, whole)}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			reasons := make(chan string, 1)
			var controller *cachetest.Informer[*corev1.Node]
			ready := make(chan struct{})
			r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{}, func(o *cache.ReflectorOptions) {
				report := o.ErrorHandler
				o.ErrorHandler = func(ctx context.Context, err error) {
					<-ready
					reasons <- controller.Status().NotStreamingReason
					report(ctx, err)
				}
			})
			controller = r.Controller
			close(ready)
			if err := cachetest.Next(t, r.Errors); !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v", err)
			}
			if why := cachetest.Next(t, reasons); !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
				t.Errorf("not streaming: %q, want %q", why, test.why)
			}
			r.Expect("A a@1")
			cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3")
			r.ExpectQuiet()
			r.ExpectStreaming()
		})
	}
}

func ofKind(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }
