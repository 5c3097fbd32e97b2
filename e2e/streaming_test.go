package e2e

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/objects"
)

// collection is what client-go's clients have in common.
type collection[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// What comes from the stream is what client-go's own list and watch give, object for object: typed ones by protobuf,
// which is asked for whatever the client was configured for, unstructured ones by JSON, and metadata.
func TestStreamGivesWhatClientGoGives(t *testing.T) {
	t.Parallel()
	pods := podScene(t, shared(t), 150) // enough for an answer to be compressed
	pods.fill(t)
	resource := corev1.SchemeGroupVersion.WithResource("pods")

	t.Run("typed", func(t *testing.T) {
		sameAsClientGo(t, pods, streamCase[*corev1.Pod, *corev1.PodList]{
			connect: func(config *rest.Config) collection[*corev1.PodList] {
				return kubernetes.NewForConfigOrDie(config).CoreV1().Pods(pods.namespace)
			},
			theirs:  inProtobuf, // as the stream: the two encodings differ in what is empty and what is nil
			example: &corev1.Pod{},
			items:   func(list *corev1.PodList) []*corev1.Pod { return pointers(list.Items) },
			accept:  "application/vnd.kubernetes.protobuf,", answer: "application/vnd.kubernetes.protobuf",
		})
	})
	t.Run("unstructured", func(t *testing.T) {
		sameAsClientGo(t, pods, streamCase[*unstructured.Unstructured, *unstructured.UnstructuredList]{
			connect: func(config *rest.Config) collection[*unstructured.UnstructuredList] {
				return dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(pods.namespace)
			},
			example: &unstructured.Unstructured{},
			items:   func(list *unstructured.UnstructuredList) []*unstructured.Unstructured { return pointers(list.Items) },
			accept:  "application/json", answer: "application/json",
		})
	})
	t.Run("metadata", func(t *testing.T) {
		sameAsClientGo(t, pods, streamCase[*metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList]{
			connect: func(config *rest.Config) collection[*metav1.PartialObjectMetadataList] {
				return metadata.NewForConfigOrDie(config).Resource(resource).Namespace(pods.namespace)
			},
			example: &metav1.PartialObjectMetadata{},
			items: func(list *metav1.PartialObjectMetadataList) []*metav1.PartialObjectMetadata {
				return pointers(list.Items)
			},
			accept: "as=PartialObjectMetadata", answer: "application/vnd.kubernetes.protobuf",
		})
	})
}

func inProtobuf(config *rest.Config) {
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
}

// streamCase is one kind of client.
type streamCase[T cache.Object, L runtime.Object] struct {
	connect        func(*rest.Config) collection[L]
	theirs         func(*rest.Config) // how client-go's own differs from the one that streams
	example        T
	items          func(L) []T
	accept, answer string // of the requests on the wire
}

func sameAsClientGo[T cache.Object, L runtime.Object](t *testing.T, pods *podsUnderTest, c streamCase[T, L]) {
	t.Helper()
	config := pods.cluster.Config()
	if c.theirs != nil {
		c.theirs(config)
	}
	theirs := c.connect(config)
	list, err := theirs.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watched := newEvents[T]()
	watched.follow(t, theirs, any(list).(metav1.ListInterface).GetResourceVersion())

	s := newSubject("informer", true, pods.cluster)
	told := newEvents[T]()
	store, controller := cache.NewInformer(cache.ListWatchOf(c.connect(s.connect(pods.cluster))), c.example, 0, told)
	s.controller, s.version, s.content = controller, controller.LastSyncResourceVersion, contentOf(store)
	s.start(t, controller.Run)
	if err := controller.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	listed := c.items(list)
	for _, want := range listed {
		if got, ok := store.GetByKey(keyOf(want)); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("the stream gave\n%#v\nand client-go\n%#v", got, want)
		}
	}

	await(t, "it watches", func(context.Context) error {
		if status := controller.Status(); status.Phase != cache.PhaseWatching {
			return fmt.Errorf("the phase is %s", status.Phase)
		}
		return nil
	})
	pods.write(t, 200)
	last := pods.createOne(t)
	want, got := watched.until(t, last), told.until(t, last)[len(listed):]
	for i := range min(len(want), len(got)) {
		if got[i].kind != want[i].kind || !reflect.DeepEqual(got[i].obj, want[i].obj) {
			t.Fatalf("event %d of the stream is %s of\n%#v\nand of client-go %s of\n%#v", i, got[i].kind, got[i].obj, want[i].kind, want[i].obj)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the stream gave %d events, client-go %d", len(got), len(want))
	}
	expectOnTheWire(t, s.requests, c.accept, c.answer)
}

// createOne creates a Pod and returns its name.
func (p *podsUnderTest) createOne(t *testing.T) string {
	t.Helper()
	pod := objects.NewWorkload(seed, 0, p.namespace).Pod(0)
	pod.Name, pod.GenerateName = "", "last-"
	created, err := p.clientset.CoreV1().Pods(p.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.Name
}

// event is what a handler or a watch tells.
type event[T cache.Object] struct {
	kind cache.EventType
	obj  T
}

// events are those of one consumer.
type events[T cache.Object] struct {
	mu      sync.Mutex
	all     []event[T]
	changed chan struct{}
}

func newEvents[T cache.Object]() *events[T] { return &events[T]{changed: make(chan struct{})} }

func (e *events[T]) add(kind cache.EventType, obj T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event[T]{kind, obj})
	close(e.changed)
	e.changed = make(chan struct{})
}

// OnEvent makes it an informer's handler.
func (e *events[T]) OnEvent(event cache.Event[T]) { e.add(event.Type, event.Object()) }

// follow adds the events of a watch by client-go.
func (e *events[T]) follow(t *testing.T, client interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, from string) {
	t.Helper()
	w, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: from})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		kinds := map[watch.EventType]cache.EventType{
			watch.Added: cache.EventAdd, watch.Modified: cache.EventUpdate, watch.Deleted: cache.EventDelete,
		}
		for event := range w.ResultChan() {
			if obj, ok := event.Object.(T); ok {
				e.add(kinds[event.Type], obj)
			}
		}
	}()
	t.Cleanup(func() {
		w.Stop()
		<-ended
	})
}

// until returns all events once the last of them is of that object.
func (e *events[T]) until(t *testing.T, name string) []event[T] {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		e.mu.Lock()
		all, changed := slices.Clone(e.all), e.changed
		e.mu.Unlock()
		if n := len(all); n > 0 && all[n-1].obj.GetName() == name {
			return all
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("the event of %s did not come within %s, after %d others", name, patience, len(all))
		}
	}
}

// expectOnTheWire checks what was asked for and how it was answered: in the right encoding, over HTTP/2 and TLS, lists
// compressed.
func expectOnTheWire(t *testing.T, r *requests, accept, answer string) {
	t.Helper()
	lists, watches, _ := r.count()
	if lists == 0 || watches == 0 {
		t.Errorf("there were %d lists and %d watches, want both", lists, watches)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		switch {
		case !strings.Contains(one.accept, accept):
			t.Errorf("the request asked for %q, want %q in it", one.accept, accept)
		case !strings.HasPrefix(one.contentType, answer):
			t.Errorf("the answer is %q, want %q", one.contentType, answer)
		case one.proto != "HTTP/2.0" || !one.tls:
			t.Errorf("the answer came by %s, TLS %t, want HTTP/2 and TLS", one.proto, one.tls)
		case !one.watch && !one.gzip:
			t.Error("the list came uncompressed")
		}
	}
}

// Whoever ends an informer does not wait for a server that has nothing to say, nor for a connection that is stuck in the
// middle of an answer.
func TestCancelIsPrompt(t *testing.T) {
	t.Parallel()
	pods := podScene(t, shared(t), 100)
	pods.fill(t)
	for _, streaming := range []bool{true, false} {
		t.Run(wayOf(streaming)+" in a quiet watch", func(t *testing.T) {
			s := startInformer(t, pods.cluster, streaming, &corev1.Pod{}, pods.list)
			s.settled(t, pods.truth(t))
			s.expectPromptEnd(t)
		})
		for _, sync := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
			t.Run(wayOf(streaming)+" in a stuck "+string(sync), func(t *testing.T) {
				stuck := &stuckNetwork{reached: make(chan struct{}), ended: make(chan struct{})}
				t.Cleanup(func() { close(stuck.ended) })
				s := startReflector(t, pods.cluster, streaming, &corev1.Pod{}, pods.list, sync, func(config *rest.Config) {
					config.Dial, config.DisableCompression = stuck.dial, true
				})
				select {
				case <-stuck.reached:
				case <-time.After(patience):
					t.Fatalf("the answer did not come to %d bytes within %s", stuckAfter, patience)
				}
				s.expectPromptEnd(t)
				if version := s.version(); version != "" || len(s.content()) != 0 {
					t.Errorf("the store has %d objects at version %q of an answer that never ended", len(s.content()), version)
				}
			})
		}
	}
}

// promptly is how long an informer may take to end.
const promptly = 5 * time.Second

func (s *subject) expectPromptEnd(t *testing.T) {
	t.Helper()
	began := time.Now()
	s.cancel()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatalf("Run did not return within %s", patience)
	}
	if took := time.Since(began); took > promptly {
		t.Errorf("Run took %s to return, want %s at most", took, promptly)
	}
}

// stuckNetwork lets so many bytes through to the client and no more.
type stuckNetwork struct {
	once    sync.Once
	reached chan struct{} // closed when it is stuck
	ended   chan struct{} // closed when connections may end
}

// stuckAfter is more than the handshake and less than a list.
const stuckAfter = 100_000

func (n *stuckNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &stuckConn{Conn: conn, network: n}, err
}

type stuckConn struct {
	net.Conn
	network *stuckNetwork
	read    int // by the one goroutine that reads
}

func (c *stuckConn) Read(p []byte) (int, error) {
	if c.read >= stuckAfter {
		c.network.once.Do(func() { close(c.network.reached) })
		<-c.network.ended
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	c.read += n
	return n, err
}
