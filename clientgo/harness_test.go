package clientgo_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func labelled(pod *corev1.Pod, name, value string) *corev1.Pod {
	pod.Labels = map[string]string{name: value}
	return pod
}

// scene is an informer of Pods in a bubble, and a handler that writes down what it is told.
type scene struct {
	t        *testing.T
	informer clientcache.SharedIndexInformer
	handle   clientcache.ResourceEventHandlerRegistration
	noted
	cancel  context.CancelFunc
	stopped chan struct{}
}

// run starts an informer with a handler, and waits until nothing moves. It is stopped at the
// end of the test, which must leave nothing behind.
func run(t *testing.T, lw clientcache.ListerWatcher, options clientgo.Options, before ...func(clientcache.SharedIndexInformer)) *scene {
	t.Helper()
	s := &scene{t: t, informer: clientgo.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, options)}
	for _, prepare := range before {
		prepare(s.informer)
	}
	handle, err := s.informer.AddEventHandler(&s.noted)
	if err != nil {
		t.Fatal(err)
	}
	s.handle = handle
	s.start()
	return s
}

// start runs the informer.
func (s *scene) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel, s.stopped = cancel, make(chan struct{})
	go func() {
		defer close(s.stopped)
		s.informer.RunWithContext(ctx)
	}()
	s.t.Cleanup(s.stop)
	synctest.Wait()
}

// stop stops the informer, and waits for it.
func (s *scene) stop() {
	s.cancel()
	<-s.stopped
}

// expect compares what the handler was told since the last time.
func (s *scene) expect(want ...string) {
	s.t.Helper()
	synctest.Wait()
	if got := s.take(); !slices.Equal(got, want) {
		s.t.Errorf("the handler was told %q, want %q", got, want)
	}
}

// noted is a handler that writes down what it is told: A name (initial), U name, D name, or
// T name for a tombstone, each with the version if there is one.
type noted struct {
	written[string]
	last any // what OnDelete was given
}

var _ clientcache.ResourceEventHandler = (*noted)(nil)

func (n *noted) OnAdd(obj any, isInInitialList bool) {
	text := "A " + at(obj)
	if isInInitialList {
		text += " initial"
	}
	n.note(text)
}

func (n *noted) OnUpdate(_, obj any) { n.note("U " + at(obj)) }

func (n *noted) OnDelete(obj any) {
	n.mu.Lock()
	n.last = obj
	n.mu.Unlock()
	if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
		n.note("T " + tombstone.Key + " " + at(tombstone.Obj))
		return
	}
	n.note("D " + at(obj))
}

// written is what several goroutines write down.
type written[V any] struct {
	mu     sync.Mutex
	values []V
}

func (w *written[V]) note(value V) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values = append(w.values, value)
}

// take returns what was written since the last time.
func (w *written[V]) take() []V {
	w.mu.Lock()
	defer w.mu.Unlock()
	values := w.values
	w.values = nil
	return values
}

// at returns an object's name and version.
func at(obj any) string {
	object, ok := obj.(metav1.Object)
	if !ok {
		return "not an object"
	}
	if object.GetResourceVersion() == "" {
		return object.GetName()
	}
	return object.GetName() + "@" + object.GetResourceVersion()
}
