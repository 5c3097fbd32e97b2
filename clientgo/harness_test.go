// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// plain are the constructors without options.
var plain = clientgo.With(clientgo.Options{})

// harness is an informer of Pods in a synctest bubble. It is the informer's handler and records the
// events.
type harness struct {
	recordingHandler

	t        *testing.T
	informer clientcache.SharedIndexInformer
	handle   clientcache.ResourceEventHandlerRegistration
	stop     func() // stops the informer and waits until Run has returned
}

// run starts an informer with a handler and waits until all goroutines are idle. The informer is
// stopped at the end of the test, and must leave no goroutine. before is called before the informer
// runs.
func run(t *testing.T, lw clientcache.ListerWatcher, options clientgo.Options, before ...func(clientcache.SharedIndexInformer)) *harness {
	t.Helper()
	return runWith(t, lw, options, clientcache.SharedIndexInformerOptions{}, before...)
}

// runWith starts an informer as run does, with client-go's options too.
func runWith(t *testing.T, lw clientcache.ListerWatcher, options clientgo.Options, informerOptions clientcache.SharedIndexInformerOptions, before ...func(clientcache.SharedIndexInformer)) *harness {
	t.Helper()
	h := &harness{t: t, informer: clientgo.With(options).NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, informerOptions)}
	for _, prepare := range before {
		prepare(h.informer)
	}
	handle, err := h.informer.AddEventHandler(&h.recordingHandler)
	if err != nil {
		t.Fatal(err)
	}
	h.handle = handle
	h.start()
	return h
}

// runInformer starts an informer without a handler, otherwise as run does.
func runInformer(t *testing.T, informer clientcache.SharedIndexInformer) *harness {
	t.Helper()
	h := &harness{t: t, informer: informer}
	h.start()
	return h
}

func (h *harness) start() {
	h.stop = background(h.t, h.informer.RunWithContext)
	synctest.Wait()
}

// liveAndPacked runs a test in a bubble without and with Options.Packed.
func liveAndPacked(t *testing.T, test func(t *testing.T, packed bool)) {
	t.Helper()
	for _, packed := range []bool{false, true} {
		cachetest.RunInBubble(t, fmt.Sprintf("packed=%v", packed), func(t *testing.T) { test(t, packed) })
	}
}

// background runs a function until the end of the test, or until stop, which waits until the
// function has returned.
func background(t *testing.T, run func(ctx context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		run(ctx)
	}()
	stop = func() {
		cancel()
		<-stopped
	}
	t.Cleanup(stop)
	return stop
}

// startFactory starts the informers of a factory until the end of the test, and returns the channel
// that stops them.
func startFactory(t *testing.T, factory interface {
	Start(stopCh <-chan struct{})
	Shutdown()
}) (stop <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	return ctx.Done()
}

// withTransform returns a function that sets the transform of an informer.
func withTransform(t *testing.T, transform clientcache.TransformFunc) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return func(informer clientcache.SharedIndexInformer) {
		if err := informer.SetTransform(transform); err != nil {
			t.Error(err)
		}
	}
}

// withHandler returns a function that adds a handler to an informer.
func withHandler(t *testing.T, handler clientcache.ResourceEventHandler) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return func(informer clientcache.SharedIndexInformer) {
		if _, err := informer.AddEventHandler(handler); err != nil {
			t.Error(err)
		}
	}
}

// add adds a handler while the informer runs.
func (h *harness) add(handler clientcache.ResourceEventHandler) clientcache.ResourceEventHandlerRegistration {
	h.t.Helper()
	handle, err := h.informer.AddEventHandler(handler)
	if err != nil {
		h.t.Fatal(err)
	}
	return handle
}

// expectEvents checks the events since its last call.
func (h *harness) expectEvents(want ...string) {
	h.t.Helper()
	synctest.Wait()
	if got := h.take(); !slices.Equal(got, want) {
		h.t.Errorf("the handler received %q, want %q", got, want)
	}
}

// waitForKey waits for at most a minute until the store has key.
func (h *harness) waitForKey(key string) {
	h.t.Helper()
	deadline := time.After(time.Minute)
	for {
		synctest.Wait()
		if _, ok, _ := h.informer.GetStore().GetByKey(key); ok {
			return
		}
		select {
		case <-deadline:
			h.t.Fatalf("the store does not have %s after a minute", key)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// recordingHandler records events as "A name@version", "U name@version", "D name@version", and
// "T key name@version" for a tombstone. An addition of the initial list ends in " initial".
type recordingHandler struct {
	recorder[string]
	last any // the last argument of OnDelete
}

var _ clientcache.ResourceEventHandler = (*recordingHandler)(nil)

func (r *recordingHandler) OnAdd(obj any, isInInitialList bool) {
	text := "A " + nameAtVersion(obj)
	if isInInitialList {
		text += " initial"
	}
	r.record(text)
}

func (r *recordingHandler) OnUpdate(_, obj any) { r.record("U " + nameAtVersion(obj)) }

func (r *recordingHandler) OnDelete(obj any) {
	r.mu.Lock()
	r.last = obj
	r.mu.Unlock()
	if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
		r.record("T " + tombstone.Key + " " + nameAtVersion(tombstone.Obj))
		return
	}
	r.record("D " + nameAtVersion(obj))
}

// errorRecorder records the errors that a watch error handler receives.
type errorRecorder struct{ recorder[error] }

// handle returns a function that makes the recorder the watch error handler of an informer.
func (r *errorRecorder) handle(t *testing.T) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return func(informer clientcache.SharedIndexInformer) {
		if err := informer.SetWatchErrorHandler(func(_ *clientcache.Reflector, err error) { r.record(err) }); err != nil {
			t.Error(err)
		}
	}
}

// recorder records values. It is safe for concurrent use.
type recorder[V any] struct {
	mu     sync.Mutex
	values []V
}

func (r *recorder[V]) record(value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, value)
}

// all returns the values since the last call of take.
func (r *recorder[V]) all() []V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.values)
}

// take returns the values since its last call.
func (r *recorder[V]) take() []V {
	r.mu.Lock()
	defer r.mu.Unlock()
	values := r.values
	r.values = nil
	return values
}

// nameAtVersion returns "name@resourceVersion", or "name" of an object without a resourceVersion.
func nameAtVersion(obj any) string {
	object, ok := obj.(metav1.Object)
	if !ok {
		return "not an object"
	}
	if object.GetResourceVersion() == "" {
		return object.GetName()
	}
	return object.GetName() + "@" + object.GetResourceVersion()
}

// byName is an index function.
func byName(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }

var (
	errGaveUp  = errors.New("gave up")
	errRefused = errors.New("refused")
)
