package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
)

// refusals are the errors of API servers, as they come and as they are told.
var refusals = map[string]struct {
	code   int
	reason metav1.StatusReason
	is     func(error) bool
	relist bool // on a watch, that it leads to a list at once
}{
	"401":           {401, metav1.StatusReasonUnauthorized, apierrors.IsUnauthorized, false},
	"403":           {403, metav1.StatusReasonForbidden, apierrors.IsForbidden, false},
	"429":           {429, metav1.StatusReasonTooManyRequests, apierrors.IsTooManyRequests, false},
	"500":           {500, metav1.StatusReasonInternalError, apierrors.IsInternalError, false},
	"503":           {503, metav1.StatusReasonServiceUnavailable, apierrors.IsServiceUnavailable, false},
	"410 Gone":      {410, metav1.StatusReasonGone, apierrors.IsGone, true},
	"410 Expired":   {410, metav1.StatusReasonExpired, apierrors.IsResourceExpired, true},
	"500 in no API": {500, "", func(err error) bool { return err != nil }, false},
}

// TestStreamedListRefused: the error is the server's, and is tried again.
func TestStreamedListRefused(t *testing.T) {
	f := formats["protobuf"]
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			whole := serve(f.list, f.nodes("3", aNode("a", "1")))
			s := newScript(t, []http.HandlerFunc{serveStatus(refusal.code, "", string(refusal.reason)), whole}, nil)
			s.watches = []http.HandlerFunc{s.serveOpen(f.watch, nil)}
			r := runOver(t, nodesOf(s.config()), &corev1.Node{})
			r.expect("A a@1")
			expectNext(t, s.requests, "list@0")
			if strings.HasPrefix(name, "410") { // asked again for the newest state, at once
				expectNext(t, s.requests, "list@", "watch@3")
				r.expectQuiet()
				return
			}
			expectNext(t, s.requests, "list@0", "watch@3")
			if err := next(t, r.errs); !refusal.is(err) {
				t.Errorf("error %v", err)
			}
			r.expectStreaming()
		})
	}
}

// TestStreamedWatchRefused: as the request's answer or as an event of the stream, an
// error is the same.
func TestStreamedWatchRefused(t *testing.T) {
	for name, refusal := range refusals {
		for formatName, f := range formats {
			status := &metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure, Code: int32(refusal.code), Reason: refusal.reason,
			}
			for carrier, answer := range map[string]http.HandlerFunc{
				"as the answer": serveStatus(refusal.code, "", string(refusal.reason)),
				"as an event":   serve(f.watch, f.event(watch.Error, status)),
			} {
				t.Run(name+" "+formatName+" "+carrier, func(t *testing.T) {
					s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("3", aNode("a", "1")))}, nil)
					s.watches = []http.HandlerFunc{answer, s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4")))}
					r := runOver(t, nodesOf(s.config()), &corev1.Node{})
					r.expect("A a@1", "A b@4")
					if err := next(t, r.errs); !refusal.is(err) {
						t.Errorf("error %v", err)
					}
					expectNext(t, s.requests, "list@0", "watch@3")
					if refusal.relist {
						expectNext(t, s.requests, "list@3")
					}
					expectNext(t, s.requests, "watch@3")
					r.expectQuiet()
				})
			}
		}
	}
}

// TestRetryAfterIsTheInformers is heeded by the informer, which makes one request and waits, and
// not by client-go, which would make eleven. One tap or two makes no difference.
func TestRetryAfterIsTheInformers(t *testing.T) {
	f := formats["JSON"]
	for _, code := range []int{429, 500, 503} {
		for taps := 1; taps <= 2; taps++ {
			t.Run(fmt.Sprint(code, taps), func(t *testing.T) {
				s := newScript(t, []http.HandlerFunc{serveStatus(code, "4"), serve(f.list, f.nodes("3", aNode("a", "1")))}, nil)
				s.watches = []http.HandlerFunc{serveStatus(code, "5"), s.serveOpen(f.watch, f.event(watch.Added, aNode("b", "4")))}
				config := s.config()
				if taps == 2 {
					cache.EnableStreaming(config)
				}
				r := runOver(t, nodesOf(config), &corev1.Node{})
				r.expect("A a@1", "A b@4")
				expectNext(t, s.requests, "list@0", "list@0", "watch@3", "watch@3")
				for _, asked := range []time.Duration{4 * time.Second, 5 * time.Second} {
					if waited := next(t, r.clock.waits); waited < asked || waited > 2*asked {
						t.Errorf("waited %v where the server asked for %v", waited, asked)
					}
				}
			})
		}
	}
}

// TestServerThatIsNotThere has nothing to do with the tap.
func TestServerThatIsNotThere(t *testing.T) {
	s := newScript(t, nil, nil)
	config := s.config()
	s.Close()
	r := runOver(t, nodesOf(config), &corev1.Node{})
	if err := next(t, r.errs); !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
	if s := r.controller.Status(); s.NotStreamingReason != "" {
		t.Errorf("not streaming: %s", s.NotStreamingReason)
	}
}

// TestWatchListStream gets the initial state from the stream of a watch.
func TestWatchListStream(t *testing.T) {
	watchList := func(o *cache.ReflectorOptions) { o.ListMode = cache.ListModeWatchList }
	t.Run("from an API server", func(t *testing.T) {
		f, config := newFront(t, false)
		a := aNode("a", "")
		mustDo(t, f.api.Create, a)
		r := runOver(t, nodesOf(config), &corev1.Node{}, watchList)
		r.expect("A " + nameAt(a))
		b := aNode("b", "")
		mustDo(t, f.api.Create, b)
		r.expect("A " + nameAt(b))
		if s := r.controller.Status(); s.Lists != 0 || s.Watches != 1 {
			t.Errorf("%d lists, %d watches", s.Lists, s.Watches)
		}
		r.expectStreaming()
	})
	for name, f := range formats {
		for value, ends := range map[string]bool{"true": true, "false": false, "": false} {
			t.Run(fmt.Sprintf("%s, marked %q", name, value), func(t *testing.T) {
				mark := aNode("", "5")
				mark.UID, mark.Annotations = "", map[string]string{metav1.InitialEventsAnnotationKey: value}
				s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("5", aNode("b", "4")))}, nil)
				initial := serve(f.watch, slices.Concat(f.event(watch.Added, aNode("a", "3")), f.event(watch.Bookmark, mark)))
				s.watches = []http.HandlerFunc{initial, initial, s.serveOpen(f.watch, nil)}
				r := runOver(t, nodesOf(s.config()), &corev1.Node{}, watchList)
				if ends {
					r.expect("A a@3")
					return
				}
				r.expect("A b@4") // from the list that it took in the end
				expectNext(t, s.requests, "watch@", "watch@", "list@0", "watch@5")
			})
		}
	}
}

// broken returns an object's bytes that say who it is, and nothing else that makes
// sense.
func (f format) broken(n *corev1.Node) []byte {
	if f.list == runtime.ContentTypeJSON {
		whole, spec := f.encode(n), []byte(`"spec":{}`)
		if !bytes.Contains(whole, spec) {
			panic("no spec to break")
		}
		return bytes.Replace(whole, spec, []byte(`"spec":[true]`), 1)
	}
	// A status follows that is longer than it says, in an envelope of the same length.
	message, err := (&corev1.Node{ObjectMeta: n.ObjectMeta}).Marshal()
	if err != nil {
		panic(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Node"}, Raw: append(message, 3<<3|2, 1, 0xff)}
	bytes, err := envelope.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), bytes...)
}

// brokenNodes returns a list of broken objects.
func (f format) brokenNodes(resourceVersion string, nodes ...*corev1.Node) []byte {
	if f.list == runtime.ContentTypeJSON {
		return bytes.ReplaceAll(f.nodes(resourceVersion, nodes...), []byte(`"spec":{}`), []byte(`"spec":[true]`))
	}
	var list []byte
	listMeta, err := (&metav1.ListMeta{ResourceVersion: resourceVersion}).Marshal()
	if err != nil {
		panic(err)
	}
	list = append(append(list, 1<<3|2, byte(len(listMeta))), listMeta...)
	for _, n := range nodes {
		message, err := (&corev1.Node{ObjectMeta: n.ObjectMeta}).Marshal()
		if err != nil {
			panic(err)
		}
		message = append(message, 3<<3|2, 1, 0xff)
		list = append(append(list, 2<<3|2, byte(len(message))), message...)
		if len(message) > 127 {
			panic("longer than one byte says")
		}
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Raw: list}
	body, err := envelope.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// TestUndecodableObject is kept out, told of by name, and fetched again. All
// others go on.
func TestUndecodableObject(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			a := aNode("a", "2")
			a.TypeMeta = ofKind("Node")
			s := newScript(t, []http.HandlerFunc{
				serve(f.list, f.nodes("3", aNode("a", "1"))),
				serve(f.list, f.nodes("9", aNode("a", "4"), aNode("b", "5"))),
			}, nil)
			a.ResourceVersion = "4"
			s.watches = []http.HandlerFunc{
				serve(f.watch, slices.Concat(f.frame(watch.Modified, f.broken(a)), f.event(watch.Added, aNode("b", "5")))),
				s.serveOpen(f.watch, nil),
			}
			r := runOver(t, nodesOf(s.config()), &corev1.Node{})
			r.expect("A a@1", "A b@5", "U a@1→4")
			var object *cache.ObjectError
			if err := next(t, r.errs); !errors.As(err, &object) || object.Key != "a" {
				t.Errorf("error %v", err)
			}
			if err := next(t, r.errs); !errors.Is(err, cache.ErrQuarantined) {
				t.Errorf("error %v", err)
			}
			expectNext(t, s.requests, "list@0", "watch@3", "list@5", "watch@9")
			r.expectQuiet()
			if quarantined := r.controller.Status().Quarantined; quarantined != 0 {
				t.Errorf("%d objects wait for a state that can be stored", quarantined)
			}
		})
	}
}

// TestRelistDoesNotDecode what the store has already: here it could not be.
func TestRelistDoesNotDecode(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			nodes := []*corev1.Node{aNode("a", "1"), aNode("b", "2")}
			s := newScript(t, []http.HandlerFunc{
				serve(f.list, f.nodes("3", nodes...)),
				serve(f.list, f.brokenNodes("8", nodes...)),
			}, nil)
			s.watches = []http.HandlerFunc{serveStatus(410, "", "Expired"), s.serveOpen(f.watch, f.event(watch.Added, aNode("c", "9")))}
			r := runOver(t, nodesOf(s.config()), &corev1.Node{})
			r.expect("A a@1", "A b@2", "A c@9")
			if err := next(t, r.errs); !apierrors.IsResourceExpired(err) {
				t.Errorf("error %v", err)
			}
			r.expectQuiet()

			// The same bytes to a store that has not: the guard of this test.
			s.mu.Lock()
			s.lists = s.lists[1:]
			s.mu.Unlock()
			fresh := runOver(t, nodesOf(s.config()), &corev1.Node{})
			var object *cache.ObjectError
			if err := next(t, fresh.errs); !errors.As(err, &object) || object.Key != "a" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestNoNoise: client-go has nothing to say about bodies that break off and
// requests that are cancelled.
func TestNoNoise(t *testing.T) {
	var log syncBuffer
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	defer func() {
		klog.SetOutput(nil)
		klog.LogToStderr(true)
	}()
	f := formats["protobuf"]
	list, event := f.nodes("3", aNode("a", "1")), f.event(watch.Added, aNode("b", "4"))
	s := newScript(t, []http.HandlerFunc{serveCut(f.list, list[:20]), serveCut(f.list, list[:len(list)-1]), serve(f.list, list)}, nil)
	s.watches = []http.HandlerFunc{serveCut(f.watch, event[:20]), serveCut(f.watch, nil), s.serveOpen(f.watch, event)}
	r := runOver(t, nodesOf(s.config()), &corev1.Node{})
	r.expect("A a@1", "A b@4")
	r.end()
	r = runOver(t, nodesOf(s.config()), &corev1.Node{})
	r.expect("A a@1", "A b@4")
	s.CloseClientConnections()
	r.expectNoEventUntil(s.requests, "watch@4")
	r.end()
	klog.Flush()
	if said := log.String(); said != "" {
		t.Errorf("logged %s", said)
	}
}

// expectNoEventUntil waits for a request.
func (r *networkRig[T]) expectNoEventUntil(requests <-chan string, want string) {
	r.t.Helper()
	for next(r.t, requests) != want {
	}
	select {
	case event := <-r.events:
		r.t.Errorf("event %s", event)
	default:
	}
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// An object larger than anything etcd would keep costs itself, and nothing else.
func TestOversizedObject(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			huge := aNode("b", "4")
			huge.Annotations = map[string]string{"large": strings.Repeat("x", 64<<20)}
			s := newScript(t, []http.HandlerFunc{serve(f.list, f.nodes("5", aNode("a", "3"), huge, aNode("c", "5")))}, nil)
			s.watches = []http.HandlerFunc{s.serveOpen(f.watch, f.event(watch.Modified, aNode("b", "6")))}
			r := runOver(t, nodesOf(s.config()), &corev1.Node{})
			r.expect("A a@3", "A c@5", "A b@6")
			var object *cache.ObjectError
			if err := <-r.errs; !errors.As(err, &object) || object.Key != "b" || !strings.Contains(err.Error(), "larger than allowed") {
				t.Errorf("told %v, want what is wrong with b", err)
			}
		})
	}
}
