package faults_test

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
	"github.com/kinformer/kinformer/internal/cachetest"
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
	f := cachetest.Formats["protobuf"]
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			whole := cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.ServeStatus(refusal.code, "", string(refusal.reason)), whole}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			r.Expect("A a@1")
			cachetest.ExpectNext(t, s.Requests, "list@0")
			if strings.HasPrefix(name, "410") { // asked again for the newest state, at once
				cachetest.ExpectNext(t, s.Requests, "list@", "watch@3")
				r.ExpectQuiet()
				return
			}
			cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3")
			if err := cachetest.Next(t, r.Errors); !refusal.is(err) {
				t.Errorf("error %v", err)
			}
			r.ExpectStreaming()
		})
	}
}

// TestStreamedWatchRefused: as the request's answer or as an event of the stream, an
// error is the same.
func TestStreamedWatchRefused(t *testing.T) {
	for name, refusal := range refusals {
		for formatName, f := range cachetest.Formats {
			status := &metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure, Code: int32(refusal.code), Reason: refusal.reason,
			}
			for carrier, answer := range map[string]http.HandlerFunc{
				"as the answer": cachetest.ServeStatus(refusal.code, "", string(refusal.reason)),
				"as an event":   cachetest.Serve(f.WatchType, f.Event(watch.Error, status)),
			} {
				t.Run(name+" "+formatName+" "+carrier, func(t *testing.T) {
					s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
					s.Watches = []http.HandlerFunc{answer, s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
					r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
					r.Expect("A a@1", "A b@4")
					if err := cachetest.Next(t, r.Errors); !refusal.is(err) {
						t.Errorf("error %v", err)
					}
					cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3")
					if refusal.relist {
						cachetest.ExpectNext(t, s.Requests, "list@3")
					}
					cachetest.ExpectNext(t, s.Requests, "watch@3")
					r.ExpectQuiet()
				})
			}
		}
	}
}

// TestRetryAfterIsTheInformers is heeded by the informer, which makes one request and waits, and
// not by client-go, which would make eleven. One tap or two makes no difference.
func TestRetryAfterIsTheInformers(t *testing.T) {
	f := cachetest.Formats["JSON"]
	for _, code := range []int{429, 500, 503} {
		for taps := 1; taps <= 2; taps++ {
			t.Run(fmt.Sprint(code, taps), func(t *testing.T) {
				s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.ServeStatus(code, "4"), cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1")))}, nil)
				s.Watches = []http.HandlerFunc{cachetest.ServeStatus(code, "5"), s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("b", "4")))}
				config := s.Config()
				if taps == 2 {
					cache.EnableStreaming(config)
				}
				r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
				r.Expect("A a@1", "A b@4")
				cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3", "watch@3")
				for _, asked := range []time.Duration{4 * time.Second, 5 * time.Second} {
					if waited := cachetest.Next(t, r.Clock.Waits); waited < asked || waited > 2*asked {
						t.Errorf("waited %v where the server asked for %v", waited, asked)
					}
				}
			})
		}
	}
}

// TestServerThatIsNotThere has nothing to do with the tap.
func TestServerThatIsNotThere(t *testing.T) {
	s := cachetest.NewScript(t, nil, nil)
	config := s.Config()
	s.Close()
	r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{})
	if err := cachetest.Next(t, r.Errors); !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
	if s := r.Controller.Status(); s.NotStreamingReason != "" {
		t.Errorf("not streaming: %s", s.NotStreamingReason)
	}
}

// TestWatchListStream gets the initial state from the stream of a watch.
func TestWatchListStream(t *testing.T) {
	watchList := func(o *cache.ReflectorOptions) { o.ListMode = cache.ListModeWatchList }
	t.Run("from an API server", func(t *testing.T) {
		f, config := cachetest.NewProxy(t, false)
		a := cachetest.Node("a", "")
		cachetest.Must(t, f.API.Create, a)
		r := cachetest.RunOverNetwork(t, cachetest.NodesOf(config), &corev1.Node{}, watchList)
		r.Expect("A " + cachetest.NameAt(a))
		b := cachetest.Node("b", "")
		cachetest.Must(t, f.API.Create, b)
		r.Expect("A " + cachetest.NameAt(b))
		if s := r.Controller.Status(); s.Lists != 0 || s.Watches != 1 {
			t.Errorf("%d lists, %d watches", s.Lists, s.Watches)
		}
		r.ExpectStreaming()
	})
	for name, f := range cachetest.Formats {
		for value, ends := range map[string]bool{"true": true, "false": false, "": false} {
			t.Run(fmt.Sprintf("%s, marked %q", name, value), func(t *testing.T) {
				mark := cachetest.Node("", "5")
				mark.UID, mark.Annotations = "", map[string]string{metav1.InitialEventsAnnotationKey: value}
				s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("5", cachetest.Node("b", "4")))}, nil)
				initial := cachetest.Serve(f.WatchType, slices.Concat(f.Event(watch.Added, cachetest.Node("a", "3")), f.Event(watch.Bookmark, mark)))
				s.Watches = []http.HandlerFunc{initial, initial, s.ServeOpen(f.WatchType, nil)}
				r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{}, watchList)
				if ends {
					r.Expect("A a@3")
					return
				}
				r.Expect("A b@4") // from the list that it took in the end
				cachetest.ExpectNext(t, s.Requests, "watch@", "watch@", "list@0", "watch@5")
			})
		}
	}
}

// broken returns an object's bytes that say who it is, and nothing else that makes
// sense.
func broken(f cachetest.Format, n *corev1.Node) []byte {
	if f.ListType == runtime.ContentTypeJSON {
		whole, spec := f.Encode(n), []byte(`"spec":{}`)
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
func brokenNodes(f cachetest.Format, resourceVersion string, nodes ...*corev1.Node) []byte {
	if f.ListType == runtime.ContentTypeJSON {
		return bytes.ReplaceAll(f.Nodes(resourceVersion, nodes...), []byte(`"spec":{}`), []byte(`"spec":[true]`))
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
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			a := cachetest.Node("a", "2")
			a.TypeMeta = ofKind("Node")
			s := cachetest.NewScript(t, []http.HandlerFunc{
				cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))),
				cachetest.Serve(f.ListType, f.Nodes("9", cachetest.Node("a", "4"), cachetest.Node("b", "5"))),
			}, nil)
			a.ResourceVersion = "4"
			s.Watches = []http.HandlerFunc{
				cachetest.Serve(f.WatchType, slices.Concat(f.Frame(watch.Modified, broken(f, a)), f.Event(watch.Added, cachetest.Node("b", "5")))),
				s.ServeOpen(f.WatchType, nil),
			}
			r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			r.Expect("A a@1", "A b@5", "U a@1→4")
			var object *cache.ObjectError
			if err := cachetest.Next(t, r.Errors); !errors.As(err, &object) || object.Key != "a" {
				t.Errorf("error %v", err)
			}
			if err := cachetest.Next(t, r.Errors); !errors.Is(err, cache.ErrQuarantined) {
				t.Errorf("error %v", err)
			}
			cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "list@5", "watch@9")
			r.ExpectQuiet()
			if quarantined := r.Controller.Status().Quarantined; quarantined != 0 {
				t.Errorf("%d objects wait for a state that can be stored", quarantined)
			}
		})
	}
}

// TestRelistDoesNotDecode what the store has already: here it could not be.
func TestRelistDoesNotDecode(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			nodes := []*corev1.Node{cachetest.Node("a", "1"), cachetest.Node("b", "2")}
			s := cachetest.NewScript(t, []http.HandlerFunc{
				cachetest.Serve(f.ListType, f.Nodes("3", nodes...)),
				cachetest.Serve(f.ListType, brokenNodes(f, "8", nodes...)),
			}, nil)
			s.Watches = []http.HandlerFunc{cachetest.ServeStatus(410, "", "Expired"), s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("c", "9")))}
			r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			r.Expect("A a@1", "A b@2", "A c@9")
			if err := cachetest.Next(t, r.Errors); !apierrors.IsResourceExpired(err) {
				t.Errorf("error %v", err)
			}
			r.ExpectQuiet()

			// The same bytes to a store that has not: the guard of this test.
			s.SkipList()
			fresh := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			var object *cache.ObjectError
			if err := cachetest.Next(t, fresh.Errors); !errors.As(err, &object) || object.Key != "a" {
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
	f := cachetest.Formats["protobuf"]
	list, event := f.Nodes("3", cachetest.Node("a", "1")), f.Event(watch.Added, cachetest.Node("b", "4"))
	s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.ServeTruncated(f.ListType, list[:20]), cachetest.ServeTruncated(f.ListType, list[:len(list)-1]), cachetest.Serve(f.ListType, list)}, nil)
	s.Watches = []http.HandlerFunc{cachetest.ServeTruncated(f.WatchType, event[:20]), cachetest.ServeTruncated(f.WatchType, nil), s.ServeOpen(f.WatchType, event)}
	r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
	r.Expect("A a@1", "A b@4")
	r.End()
	r = cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
	r.Expect("A a@1", "A b@4")
	s.CloseClientConnections()
	expectNoEventUntil(r, s.Requests, "watch@4")
	r.End()
	klog.Flush()
	if said := log.String(); said != "" {
		t.Errorf("logged %s", said)
	}
}

// expectNoEventUntil waits for a request.
func expectNoEventUntil[T cache.Object](r *cachetest.NetworkHarness[T], requests <-chan string, want string) {
	r.T.Helper()
	for cachetest.Next(r.T, requests) != want {
	}
	select {
	case event := <-r.Events:
		r.T.Errorf("event %s", event)
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
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			huge := cachetest.Node("b", "4")
			huge.Annotations = map[string]string{"large": strings.Repeat("x", 64<<20)}
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("5", cachetest.Node("a", "3"), huge, cachetest.Node("c", "5")))}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, f.Event(watch.Modified, cachetest.Node("b", "6")))}
			r := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			r.Expect("A a@3", "A c@5", "A b@6")
			var object *cache.ObjectError
			if err := <-r.Errors; !errors.As(err, &object) || object.Key != "b" || !strings.Contains(err.Error(), "larger than allowed") {
				t.Errorf("told %v, want what is wrong with b", err)
			}
		})
	}
}
