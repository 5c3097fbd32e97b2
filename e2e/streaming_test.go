// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/e2e/objects"
)

// collection is implemented by client-go's clients of a resource.
type collection[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// TestStreamedObjectsEqualClientGo compares streamed lists and watches with client-go's, object by
// object: typed objects, which are requested as protobuf whatever the client's configuration,
// unstructured objects in JSON, and metadata.
func TestStreamedObjectsEqualClientGo(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 150) // enough for a compressed response
	pods.fill(t)
	resource := corev1.SchemeGroupVersion.WithResource("pods")

	t.Run("typed", func(t *testing.T) {
		expectEqualToClientGo(t, pods, streamCase[*corev1.Pod, *corev1.PodList]{
			connect: func(config *rest.Config) collection[*corev1.PodList] {
				return kubernetes.NewForConfigOrDie(config).CoreV1().Pods(pods.namespace)
			},
			clientGo: inProtobuf, // like the stream: JSON and protobuf differ in empty and nil values
			example:  &corev1.Pod{},
			items:    func(list *corev1.PodList) []*corev1.Pod { return pointers(list.Items) },
			accept:   "application/vnd.kubernetes.protobuf,", contentType: "application/vnd.kubernetes.protobuf",
		})
	})
	t.Run("unstructured", func(t *testing.T) {
		expectEqualToClientGo(t, pods, streamCase[*unstructured.Unstructured, *unstructured.UnstructuredList]{
			connect: func(config *rest.Config) collection[*unstructured.UnstructuredList] {
				return dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(pods.namespace)
			},
			example: &unstructured.Unstructured{},
			items:   func(list *unstructured.UnstructuredList) []*unstructured.Unstructured { return pointers(list.Items) },
			accept:  "application/json", contentType: "application/json",
		})
	})
	t.Run("metadata", func(t *testing.T) {
		expectEqualToClientGo(t, pods, streamCase[*metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList]{
			connect: func(config *rest.Config) collection[*metav1.PartialObjectMetadataList] {
				return metadata.NewForConfigOrDie(config).Resource(resource).Namespace(pods.namespace)
			},
			example: &metav1.PartialObjectMetadata{},
			items: func(list *metav1.PartialObjectMetadataList) []*metav1.PartialObjectMetadata {
				return pointers(list.Items)
			},
			accept: "as=PartialObjectMetadata", contentType: "application/vnd.kubernetes.protobuf",
		})
	})
}

// TestStreamedObjectsEqualCBOR is for a dynamic client that prefers CBOR, with a server that sends
// it. It changes feature gates of the process, so it is not parallel.
func TestStreamedObjectsEqualCBOR(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	clientfeaturestesting.SetFeatureDuringTest(t, features.ClientsPreferCBOR, true)
	c := cluster.New(t, cluster.Options{APIServerArgs: []string{"--feature-gates=CBORServingAndStorage=true"}})
	pods := newPodCollection(t, c, 150)
	pods.fill(t)
	var received atomic.Value // the Content-Type of client-go's last response
	expectEqualToClientGo(t, pods, streamCase[*unstructured.Unstructured, *unstructured.UnstructuredList]{
		connect: func(config *rest.Config) collection[*unstructured.UnstructuredList] {
			return dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(pods.namespace)
		},
		clientGo: func(config *rest.Config) {
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					response, err := next.RoundTrip(r)
					if err == nil {
						received.Store(response.Header.Get("Content-Type"))
					}
					return response, err
				})
			})
		},
		example: &unstructured.Unstructured{},
		items:   func(list *unstructured.UnstructuredList) []*unstructured.Unstructured { return pointers(list.Items) },
		accept:  "application/json", contentType: "application/json",
	})
	if got, _ := received.Load().(string); !strings.HasPrefix(got, "application/cbor") {
		t.Errorf("client-go received %q", got)
	}
}

func inProtobuf(config *rest.Config) {
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
}

// streamCase is one type of client.
type streamCase[T cache.Object, L runtime.Object] struct {
	connect             func(*rest.Config) collection[L]
	clientGo            func(*rest.Config) // configures client-go's own client; may be nil
	example             T
	items               func(L) []T
	accept, contentType string // of the requests and responses as sent
}

func expectEqualToClientGo[T cache.Object, L runtime.Object](t *testing.T, pods *podCollection, c streamCase[T, L]) {
	t.Helper()
	config := pods.cluster.Config()
	if c.clientGo != nil {
		c.clientGo(config)
	}
	client := c.connect(config)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watched := newEvents[T]()
	watched.follow(t, client, any(list).(metav1.ListInterface).GetResourceVersion())

	s := newSubject("informer", true, pods.cluster)
	delivered := newEvents[T]()
	store, controller := cache.NewInformer(cache.ListWatchOf(c.connect(s.connect(pods.cluster))), c.example, 0, delivered)
	s.controller, s.version, s.content = controller, controller.LastSyncResourceVersion, contentOf(store)
	s.start(t, controller.Run)
	if err := controller.WaitForDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
	listed := c.items(list)
	for _, want := range listed {
		if got, ok := store.GetByKey(keyOf(want)); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("streamed\n%#v\nclient-go\n%#v", got, want)
		}
	}

	await(t, "the informer watches", func(context.Context) error {
		if status := controller.Status(); status.Phase != cache.PhaseWatching {
			return fmt.Errorf("the phase is %s", status.Phase)
		}
		return nil
	})
	pods.write(t, 200)
	last := pods.createOne(t)
	want, got := watched.until(t, last), delivered.until(t, last)[len(listed):]
	for i := range min(len(want), len(got)) {
		if got[i].kind != want[i].kind || !reflect.DeepEqual(got[i].obj, want[i].obj) {
			t.Fatalf("event %d: streamed %s of\n%#v\nclient-go %s of\n%#v", i, got[i].kind, got[i].obj, want[i].kind, want[i].obj)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d streamed events, client-go %d", len(got), len(want))
	}
	expectOnTheWire(t, s.requests, c.accept, c.contentType)
}

// createOne creates a Pod and returns its name.
func (p *podCollection) createOne(t *testing.T) string {
	t.Helper()
	pod := objects.NewWorkload(seed, 0, p.namespace).Pod(0)
	pod.Name, pod.GenerateName = "", "last-"
	created, err := p.clientset.CoreV1().Pods(p.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.Name
}

// event is an event of a handler or a watch.
type event[T cache.Object] struct {
	kind cache.EventType
	obj  T
}

// events records the events of one handler or watch.
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

// OnEvent implements cache.EventHandler.
func (e *events[T]) OnEvent(event cache.Event[T]) { e.add(event.Type, event.Object()) }

// follow records the events of a client-go watch.
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

// until returns all events once the last one is of the named object.
func (e *events[T]) until(t *testing.T, name string) []event[T] {
	t.Helper()
	timeout := time.NewTimer(waitTimeout)
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
			t.Fatalf("no event of %s within %s, after %d others", name, waitTimeout, len(all))
		}
	}
}

// expectOnTheWire checks the requested and received encodings, that requests use HTTP/2 and TLS,
// and that lists are compressed, but for the small answer to a probe.
func expectOnTheWire(t *testing.T, r *requests, accept, contentType string) {
	t.Helper()
	lists, watches, _ := r.count()
	if lists == 0 || watches == 0 {
		t.Errorf("%d lists and %d watches, want both", lists, watches)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		switch {
		case !strings.Contains(one.accept, accept):
			t.Errorf("the request accepts %q, want it to contain %q", one.accept, accept)
		case !strings.HasPrefix(one.contentType, contentType):
			t.Errorf("the response has Content-Type %q, want %q", one.contentType, contentType)
		case one.proto != "HTTP/2.0" || !one.tls:
			t.Errorf("the response used %s, TLS %t, want HTTP/2 and TLS", one.proto, one.tls)
		case !one.watch && !one.probe && !one.gzip:
			t.Error("the list is not compressed")
		}
	}
}

// TestRunReturnsPromptlyOnCancel cancels Run during an idle watch, and while a connection stalls in
// the middle of a response.
func TestRunReturnsPromptlyOnCancel(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 100)
	pods.fill(t)
	for _, streaming := range []bool{true, false} {
		t.Run(modeName(streaming)+" during an idle watch", func(t *testing.T) {
			s := startInformer(t, pods.cluster, streaming, &corev1.Pod{}, pods.list)
			s.expectSettled(t, pods.truth(t))
			s.expectPromptStop(t)
		})
		for _, watchList := range []bool{false, true} {
			t.Run(modeName(streaming)+" during a stalled "+listName(watchList), func(t *testing.T) {
				network := &stallingNetwork{reached: make(chan struct{}), ended: make(chan struct{})}
				t.Cleanup(func() { close(network.ended) })
				s := startReflector(t, pods.cluster, streaming, &corev1.Pod{}, pods.list, watchList, func(config *rest.Config) {
					config.Dial, config.DisableCompression = network.dial, true
				})
				select {
				case <-network.reached:
				case <-time.After(waitTimeout):
					t.Fatalf("the response did not reach %d bytes within %s", stallAfter, waitTimeout)
				}
				s.expectPromptStop(t)
				if version := s.version(); version != "" || len(s.content()) != 0 {
					t.Errorf("the store has %d objects at version %q from an incomplete response", len(s.content()), version)
				}
			})
		}
	}
}

// stopTimeout is the maximum duration of a stop. It is long for slow machines.
const stopTimeout = 30 * time.Second

func (s *subject) expectPromptStop(t *testing.T) {
	t.Helper()
	began := time.Now()
	s.cancel()
	select {
	case <-s.done:
	case <-time.After(waitTimeout):
		t.Fatalf("Run did not return within %s", waitTimeout)
	}
	if took := time.Since(began); took > stopTimeout {
		t.Errorf("Run took %s to return, want at most %s", took, stopTimeout)
	}
}

// stallingNetwork delivers stallAfter bytes of each connection, and then stalls.
type stallingNetwork struct {
	once    sync.Once
	reached chan struct{} // closed when a connection stalls
	ended   chan struct{} // closed when connections may end
}

// stallAfter is more than the TLS handshake and less than a list, in bytes.
const stallAfter = 100_000

func (n *stallingNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &stallingConn{Conn: conn, network: n}, err
}

type stallingConn struct {
	net.Conn
	network *stallingNetwork
	read    int // used by the reading goroutine only
}

func (c *stallingConn) Read(p []byte) (int, error) {
	if c.read >= stallAfter {
		c.network.once.Do(func() { close(c.network.reached) })
		<-c.network.ended
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	c.read += n
	return n, err
}
