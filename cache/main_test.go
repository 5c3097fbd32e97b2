// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

type podFuncs = cache.ResourceEventHandlerFuncs[*corev1.Pod]

// eventFunc is a handler that calls a function.
type eventFunc func(cache.Event[*corev1.Pod])

func (f eventFunc) OnEvent(event cache.Event[*corev1.Pod]) { f(event) }

// podClient is a typed client of a fake server.
type podClient struct {
	*fake.ListerWatcher[*corev1.Pod]
	namespace string
}

func (c podClient) GetNamespace() string { return c.namespace }

func (c podClient) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := c.ListerWatcher.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.(*corev1.PodList), nil
}

// eventRecorder is a handler that records events.
type eventRecorder struct {
	mu     sync.Mutex // guards events, which a timer's goroutine may append to
	events []cache.Event[*corev1.Pod]
}

func (n *eventRecorder) OnEvent(event cache.Event[*corev1.Pod]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, event)
}

// take describes the events since its last call: the states of an addition or update, and the final
// one of a deletion. The type has an i added for InInitialList and a d for LeftScope.
func (n *eventRecorder) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var words []string
	for _, e := range n.events {
		word := string(e.Type)
		if e.InInitialList {
			word += "i"
		}
		if e.LeftScope {
			word += "d"
		}
		word += " " + e.Key
		if e.Type == cache.EventUpdate && e.Old != nil {
			word += " " + cachetest.NameAtVersion(e.Old)
		}
		if e.Final != nil {
			word += " " + cachetest.NameAtVersion(e.Final)
		}
		if e.New != nil {
			word += " " + cachetest.NameAtVersion(e.New)
		}
		words = append(words, word)
	}
	n.events = nil
	return strings.Join(words, ", ")
}

// runWithHandler runs an informer of three Pods with a handler, in a synctest bubble.
func runWithHandler(t *testing.T, period time.Duration, handler cache.EventHandler[*corev1.Pod], test func(r *cachetest.Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		r.Handler, r.ResyncPeriod = handler, period
		r.Run(cache.ReflectorOptions{})
		test(r)
		r.CheckStop()
	})
}

// sharedHarness is a SharedInformer of three Pods on a fake server, in a synctest bubble.
type sharedHarness struct {
	*cachetest.Harness
	*cache.SharedInformer[*corev1.Pod]
	stopRun func() error
}

// runShared runs a test with a running SharedInformer of the Pods a, b and c in namespace ns, at
// the versions 2, 3 and 4. before is called before the informer runs.
func runShared(t *testing.T, options cache.InformerOptions[*corev1.Pod], test func(s *sharedHarness), before ...func(s *sharedHarness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSharedHarness(t, options)
		for _, prepare := range before {
			prepare(s)
		}
		s.start()
		test(s)
		if err := s.stopRun(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func newSharedHarness(t *testing.T, options cache.InformerOptions[*corev1.Pod]) *sharedHarness {
	t.Helper()
	s := &sharedHarness{Harness: cachetest.New(t)}
	if options.ErrorHandler == nil {
		options.ErrorHandler = s.Report
	}
	s.SharedInformer = cache.NewSharedInformer(s.Harness, &corev1.Pod{}, options)
	return s
}

func (s *sharedHarness) start() {
	ctx, cancel := context.WithCancel(s.T.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.SharedInformer.Run(ctx) }()
	synctest.Wait()
	s.stopRun = func() error {
		cancel()
		return <-stopped
	}
}

// add adds a handler.
func (s *sharedHarness) add(handler cache.EventHandler[*corev1.Pod], options cache.HandlerOptions) *cache.Registration {
	s.T.Helper()
	r, err := s.AddEventHandler(handler, options)
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// expect checks the events since the recorder's last take.
func (s *sharedHarness) expect(r *eventRecorder, want string) {
	s.T.Helper()
	synctest.Wait()
	if got := r.take(); got != want {
		s.T.Errorf("events [%s], want [%s]", got, want)
	}
}

// sortWords sorts the events of an initial list, whose order is not defined.
func sortWords(events string) string {
	words := strings.Split(events, ", ")
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// runInformer runs an informer until the test ends, and returns it once it has synced.
func runInformer[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, options cache.InformerOptions[T]) *cache.SharedInformer[T] {
	t.Helper()
	informer := cache.NewSharedInformer(lw, example, options)
	start(t, informer)
	if err := informer.WaitForSync(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return informer
}

// start runs informers until stop is called or the test ends.
func start(t *testing.T, informers ...interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	var run []func(context.Context) error
	for _, informer := range informers {
		run = append(run, informer.Run)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, run...) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// handle adds a handler to an informer.
func handle[T cache.Object](t *testing.T, informer *cache.SharedInformer[T], onEvent func(cache.Event[T])) *cache.Registration {
	t.Helper()
	registration, err := informer.AddEventHandler(cache.EventHandlerFunc[T](onEvent), cache.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return registration
}

// testContext returns a context that ends after cachetest.Timeout.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cachetest.Timeout)
	t.Cleanup(cancel)
	return ctx
}

// runWithReflector runs a reflector of three Pods that writes to a store, in a synctest bubble.
func runWithReflector(t *testing.T, store cache.ReflectorStore[*corev1.Pod], test func(r *cachetest.Harness), before ...func(r *cachetest.Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		for _, prepare := range before {
			prepare(r)
		}
		stop := r.RunReflector(store)
		test(r)
		stop()
	})
}

func must[T any](value T, ok bool) T {
	if !ok {
		panic("not found")
	}
	return value
}
