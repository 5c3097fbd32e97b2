package cachetest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
)

// patience is how long tests of the network wait for what must happen. It is long
// for the sake of slow machines; nothing waits so long unless it fails.
const Timeout = 30 * time.Second

// script is a server that gives prepared answers: the nth list gets the nth, and
// those after the last get the last again; watches the same.
type Script struct {
	*httptest.Server
	Lists, Watches []http.HandlerFunc
	closing        chan struct{} // closed before the server is: held answers end
	Requests       chan string   // verb@resourceVersion of each

	mu             sync.Mutex // guards what follows
	listed, opened int
}

func NewScript(t *testing.T, lists, watches []http.HandlerFunc) *Script {
	t.Helper()
	s := &Script{Lists: lists, Watches: watches, closing: make(chan struct{}), Requests: make(chan string, 10_000)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closing)
		s.Close()
	})
	return s
}

func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.answer(r)(w, r)
}

func (s *Script) answer(r *http.Request) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, count, answers := "list", &s.listed, s.Lists
	if r.URL.Query().Has("watch") {
		verb, count, answers = "watch", &s.opened, s.Watches
	}
	TrySend(s.Requests, verb+"@"+r.URL.Query().Get("resourceVersion"))
	*count++
	return answers[min(*count, len(answers))-1]
}

// SkipList removes the first of the prepared lists.
func (s *Script) SkipList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lists = s.Lists[1:]
}

// Config returns a client configuration for the server.
func (s *Script) Config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

// serveOpen answers with a body and leaves it open.
func (s *Script) ServeOpen(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Serve(contentType, body)(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
}

// serve answers with a body.
func Serve(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, bytes.NewReader(body))
	}
}

// serveCut answers with a body and breaks the connection.
func ServeTruncated(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Serve(contentType, body)(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// format is one that API servers speak.
type Format struct{ ListType, WatchType string }

var Formats = map[string]Format{
	"JSON":     {runtime.ContentTypeJSON, runtime.ContentTypeJSON},
	"protobuf": {runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf + ";stream=watch"},
}

func (f Format) serializer() runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), f.ListType)
	return info
}

// encode returns the bytes of an object or a list, which says what it is.
func (f Format) Encode(obj runtime.Object) []byte {
	var b bytes.Buffer
	if err := f.serializer().Serializer.Encode(obj, &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// nodes returns a list.
func (f Format) Nodes(resourceVersion string, nodes ...*corev1.Node) []byte {
	list := &corev1.NodeList{
		TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion},
	}
	for _, n := range nodes {
		list.Items = append(list.Items, *n)
	}
	return f.Encode(list)
}

// event returns the frame of a watch event.
func (f Format) Event(eventType watch.EventType, obj runtime.Object) []byte {
	if n, ok := obj.(*corev1.Node); ok {
		n = n.DeepCopy()
		n.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
		obj = n
	}
	return f.Frame(eventType, f.Encode(obj))
}

func (f Format) Frame(eventType watch.EventType, object []byte) []byte {
	var b bytes.Buffer
	info := f.serializer()
	encoder := streaming.NewEncoder(info.StreamSerializer.NewFrameWriter(&b), info.StreamSerializer.Serializer)
	if err := encoder.Encode(&metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object}}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func Node(name, resourceVersion string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion}}
}

// nodesOf returns a ListWatch of a server's nodes through a clientset with the tap.
func NodesOf(config *rest.Config) *cache.ListWatch {
	cache.EnableStreaming(config)
	return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes())
}

// networkRig is an informer over the network.
type NetworkHarness[T cache.Object] struct {
	T          *testing.T
	Store      cache.Reader[T]
	Controller *Informer[T]
	Clock      *ImpatientClock
	Events     chan string
	Errors     chan error
	Stop       context.CancelFunc
	stopped    chan error
}

// runOver runs an informer that does not wait between attempts, until the test ends.
func RunOverNetwork[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, edit ...func(*cache.ReflectorOptions)) *NetworkHarness[T] {
	t.Helper()
	r := &NetworkHarness[T]{
		T:       t,
		Clock:   &ImpatientClock{Waits: make(chan time.Duration, 10_000)},
		Events:  make(chan string, 10_000),
		Errors:  make(chan error, 10_000),
		stopped: make(chan error, 1),
	}
	options := cache.ReflectorOptions{
		Clock:        r.Clock,
		Backoff:      wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 1},
		ErrorHandler: func(_ context.Context, err error) { TrySend(r.Errors, err) },
	}
	for _, e := range edit {
		e(&options)
	}
	r.Store, r.Controller = NewInformer(lw, example, 0, cache.ResourceEventHandlerFuncs[T]{
		AddFunc:    func(obj T) { r.Events <- "A " + NameAt(obj) },
		UpdateFunc: func(before, obj T) { r.Events <- "U " + NameAt(before) + "→" + obj.GetResourceVersion() },
		DeleteFunc: func(obj T) { r.Events <- "D " + NameAt(obj) },
	}, options)
	ctx, cancel := context.WithCancel(context.Background())
	r.Stop = cancel
	go func() { r.stopped <- r.Controller.Run(ctx) }()
	t.Cleanup(r.End)
	return r
}

// end stops the informer, which must be quick.
func (r *NetworkHarness[T]) End() {
	r.T.Helper()
	r.Stop()
	select {
	case err := <-r.stopped:
		if err != nil {
			r.T.Errorf("Run returned %v", err)
		}
		r.stopped <- nil
	case <-time.After(5 * time.Second):
		r.T.Error("Run has not returned five seconds after its context has ended")
	}
}

// NameAt returns "name@resourceVersion".
func NameAt(obj metav1.Object) string { return obj.GetName() + "@" + obj.GetResourceVersion() }

// expect requires these events to be the next.
func (r *NetworkHarness[T]) Expect(want ...string) {
	r.T.Helper()
	for _, w := range want {
		if got := Next(r.T, r.Events); got != w {
			r.T.Fatalf("event %q, want %q", got, w)
		}
	}
}

// expectError requires an error to have been reported, whichever.
func (r *NetworkHarness[T]) ExpectError() {
	r.T.Helper()
	_ = Next(r.T, r.Errors)
}

// expectQuiet requires that there was neither an event nor an error more.
func (r *NetworkHarness[T]) ExpectQuiet() {
	r.T.Helper()
	select {
	case event := <-r.Events:
		r.T.Errorf("event %q", event)
	case err := <-r.Errors:
		r.T.Errorf("error %v", err)
	default:
	}
}

// expectStreaming requires the last answer to have been cut from the stream.
func (r *NetworkHarness[T]) ExpectStreaming() {
	r.T.Helper()
	if s := r.Controller.Status(); !s.Streaming || s.NotStreamingReason != "" {
		r.T.Errorf("streaming: %v, %q", s.Streaming, s.NotStreamingReason)
	}
}

// expectClassic requires it not to have been, for a reason.
func (r *NetworkHarness[T]) ExpectNotStreaming(why string) {
	r.T.Helper()
	if s := r.Controller.Status(); s.Streaming || !strings.Contains(s.NotStreamingReason, why) {
		r.T.Errorf("streaming: %v, %q, want a reason with %q", s.Streaming, s.NotStreamingReason, why)
	}
}

// offer puts something into a channel that has room. An informer that fails all the
// time, and waits for nothing, fills any sooner or later, and must not get stuck in it.
func TrySend[E any](c chan<- E, e E) {
	select {
	case c <- e:
	default:
	}
}

// next returns what comes next from a channel.
func Next[E any](t *testing.T, c <-chan E) E {
	t.Helper()
	select {
	case e := <-c:
		return e
	case <-time.After(Timeout):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

// expectNext requires these to come next from a channel.
func ExpectNext[E comparable](t *testing.T, c <-chan E, want ...E) {
	t.Helper()
	for _, w := range want {
		if got := Next(t, c); got != w {
			t.Fatalf("got %v, want %v", got, w)
		}
	}
}

// quickClock passes over the waits between attempts, and notes them. The watchdogs'
// are longer than those, and real.
type ImpatientClock struct {
	clock.RealClock
	Waits chan time.Duration
}

func (c *ImpatientClock) NewTimer(d time.Duration) clock.Timer {
	if d > 7*time.Second {
		return c.RealClock.NewTimer(d)
	}
	TrySend(c.Waits, d)
	return c.RealClock.NewTimer(0)
}
