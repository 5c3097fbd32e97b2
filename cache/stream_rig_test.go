package cache_test

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
const patience = 30 * time.Second

// script is a server that gives prepared answers: the nth list gets the nth, and
// those after the last get the last again; watches the same.
type script struct {
	*httptest.Server
	lists, watches []http.HandlerFunc
	closing        chan struct{} // closed before the server is: held answers end
	requests       chan string   // verb@resourceVersion of each

	mu             sync.Mutex // guards what follows
	listed, opened int
}

func newScript(t *testing.T, lists, watches []http.HandlerFunc) *script {
	t.Helper()
	s := &script{lists: lists, watches: watches, closing: make(chan struct{}), requests: make(chan string, 10_000)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closing)
		s.Close()
	})
	return s
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.answer(r)(w, r)
}

func (s *script) answer(r *http.Request) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, count, answers := "list", &s.listed, s.lists
	if r.URL.Query().Has("watch") {
		verb, count, answers = "watch", &s.opened, s.watches
	}
	offer(s.requests, verb+"@"+r.URL.Query().Get("resourceVersion"))
	*count++
	return answers[min(*count, len(answers))-1]
}

func (s *script) config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

// serveOpen answers with a body and leaves it open.
func (s *script) serveOpen(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		serve(contentType, body)(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
}

// serve answers with a body.
func serve(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, bytes.NewReader(body))
	}
}

// serveCut answers with a body and breaks the connection.
func serveCut(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		serve(contentType, body)(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// format is one that API servers speak.
type format struct{ list, watch string }

var formats = map[string]format{
	"JSON":     {runtime.ContentTypeJSON, runtime.ContentTypeJSON},
	"protobuf": {runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf + ";stream=watch"},
}

func (f format) serializer() runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), f.list)
	return info
}

// encode returns the bytes of an object or a list, which says what it is.
func (f format) encode(obj runtime.Object) []byte {
	var b bytes.Buffer
	if err := f.serializer().Serializer.Encode(obj, &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// nodes returns a list.
func (f format) nodes(resourceVersion string, nodes ...*corev1.Node) []byte {
	list := &corev1.NodeList{
		TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion},
	}
	for _, n := range nodes {
		list.Items = append(list.Items, *n)
	}
	return f.encode(list)
}

// event returns the frame of a watch event.
func (f format) event(eventType watch.EventType, obj runtime.Object) []byte {
	if n, ok := obj.(*corev1.Node); ok {
		n = n.DeepCopy()
		n.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
		obj = n
	}
	return f.frame(eventType, f.encode(obj))
}

func (f format) frame(eventType watch.EventType, object []byte) []byte {
	var b bytes.Buffer
	info := f.serializer()
	encoder := streaming.NewEncoder(info.StreamSerializer.NewFrameWriter(&b), info.StreamSerializer.Serializer)
	if err := encoder.Encode(&metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object}}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func aNode(name, resourceVersion string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion}}
}

// nodesOf returns a ListWatch of a server's nodes through a clientset with the tap.
func nodesOf(config *rest.Config) *cache.ListWatch {
	cache.EnableStreaming(config)
	return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes())
}

// networkRig is an informer over the network.
type networkRig[T cache.Object] struct {
	t          *testing.T
	store      cache.Reader[T]
	controller *cache.Controller
	clock      *quickClock
	events     chan string
	errs       chan error
	stop       context.CancelFunc
	stopped    chan error
}

// runOver runs an informer that does not wait between attempts, until the test ends.
func runOver[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, edit ...func(*cache.ReflectorOptions)) *networkRig[T] {
	t.Helper()
	r := &networkRig[T]{
		t:       t,
		clock:   &quickClock{waits: make(chan time.Duration, 10_000)},
		events:  make(chan string, 10_000),
		errs:    make(chan error, 10_000),
		stopped: make(chan error, 1),
	}
	options := cache.ReflectorOptions{
		Clock:        r.clock,
		Backoff:      wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 1},
		ErrorHandler: func(_ context.Context, err error) { offer(r.errs, err) },
	}
	for _, e := range edit {
		e(&options)
	}
	r.store, r.controller = cache.NewInformerWithOptions(lw, example, 0, cache.ResourceEventHandlerFuncs[T]{
		AddFunc:    func(obj T) { r.events <- "A " + nameAt(obj) },
		UpdateFunc: func(before, obj T) { r.events <- "U " + nameAt(before) + "→" + obj.GetResourceVersion() },
		DeleteFunc: func(obj T) { r.events <- "D " + nameAt(obj) },
	}, options)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.stopped <- r.controller.Run(ctx) }()
	t.Cleanup(r.end)
	return r
}

// end stops the informer, which must be quick.
func (r *networkRig[T]) end() {
	r.t.Helper()
	r.stop()
	select {
	case err := <-r.stopped:
		if err != nil {
			r.t.Errorf("Run returned %v", err)
		}
		r.stopped <- nil
	case <-time.After(5 * time.Second):
		r.t.Error("Run has not returned five seconds after its context has ended")
	}
}

func nameAt(obj metav1.Object) string { return obj.GetName() + "@" + obj.GetResourceVersion() }

// expect requires these events to be the next.
func (r *networkRig[T]) expect(want ...string) {
	r.t.Helper()
	for _, w := range want {
		if got := next(r.t, r.events); got != w {
			r.t.Fatalf("event %q, want %q", got, w)
		}
	}
}

// expectError requires an error to have been reported, whichever.
func (r *networkRig[T]) expectError() {
	r.t.Helper()
	_ = next(r.t, r.errs)
}

// expectQuiet requires that there was neither an event nor an error more.
func (r *networkRig[T]) expectQuiet() {
	r.t.Helper()
	select {
	case event := <-r.events:
		r.t.Errorf("event %q", event)
	case err := <-r.errs:
		r.t.Errorf("error %v", err)
	default:
	}
}

// expectStreaming requires the last answer to have been cut from the stream.
func (r *networkRig[T]) expectStreaming() {
	r.t.Helper()
	if s := r.controller.Status(); !s.Streaming || s.NotStreamingReason != "" {
		r.t.Errorf("streaming: %v, %q", s.Streaming, s.NotStreamingReason)
	}
}

// expectClassic requires it not to have been, for a reason.
func (r *networkRig[T]) expectClassic(why string) {
	r.t.Helper()
	if s := r.controller.Status(); s.Streaming || !strings.Contains(s.NotStreamingReason, why) {
		r.t.Errorf("streaming: %v, %q, want a reason with %q", s.Streaming, s.NotStreamingReason, why)
	}
}

// offer puts something into a channel that has room. An informer that fails all the
// time, and waits for nothing, fills any sooner or later, and must not get stuck in it.
func offer[E any](c chan<- E, e E) {
	select {
	case c <- e:
	default:
	}
}

// next returns what comes next from a channel.
func next[E any](t *testing.T, c <-chan E) E {
	t.Helper()
	select {
	case e := <-c:
		return e
	case <-time.After(patience):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

// expectNext requires these to come next from a channel.
func expectNext[E comparable](t *testing.T, c <-chan E, want ...E) {
	t.Helper()
	for _, w := range want {
		if got := next(t, c); got != w {
			t.Fatalf("got %v, want %v", got, w)
		}
	}
}

// quickClock passes over the waits between attempts, and notes them. The watchdogs'
// are longer than those, and real.
type quickClock struct {
	clock.RealClock
	waits chan time.Duration
}

func (c *quickClock) NewTimer(d time.Duration) clock.Timer {
	if d > 7*time.Second {
		return c.RealClock.NewTimer(d)
	}
	offer(c.waits, d)
	return c.RealClock.NewTimer(0)
}
