package cache_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type podFuncs = cache.ResourceEventHandlerFuncs[*corev1.Pod]

// onEvents is a handler of a function.
type onEvents func(cache.Event[*corev1.Pod])

func (f onEvents) OnEvent(event cache.Event[*corev1.Pod]) { f(event) }

// podClient is the typed client of a fake server.
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

// eventNotes is a handler that writes events down as they come.
type eventNotes struct {
	mu     sync.Mutex // guards events: between the test and a timer's goroutine nothing else orders
	events []cache.Event[*corev1.Pod]
}

func (n *eventNotes) OnEvent(event cache.Event[*corev1.Pod]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, event)
}

// take describes the events since the last call: initial additions with an i, departures
// with a d.
func (n *eventNotes) take() string {
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
		if e.Old != nil {
			word += " " + cachetest.NameAtVersion(e.Old)
		}
		if e.New != nil {
			word += " " + cachetest.NameAtVersion(e.New)
		}
		words = append(words, word)
	}
	n.events = nil
	return strings.Join(words, ", ")
}

// underHandler runs an informer of three Pods with a handler, in a bubble.
func underHandler(t *testing.T, period time.Duration, handler cache.EventHandler[*corev1.Pod], test func(r *cachetest.Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		r.Handler, r.ResyncPeriod = handler, period
		r.Run(cache.ReflectorOptions{})
		test(r)
		r.CheckStop()
	})
}

// sharedRig is a SharedInformer of three Pods on a fake server, in a bubble.
type sharedRig struct {
	*cachetest.Harness
	*cache.SharedInformer[*corev1.Pod]
	stopRun func() error
}

// shared runs a test with a running SharedInformer of Pods a, b and c in namespace ns, at
// the versions 2, 3 and 4. before is called before it runs.
func shared(t *testing.T, options cache.InformerOptions[*corev1.Pod], test func(s *sharedRig), before ...func(s *sharedRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSharedRig(t, options)
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

func newSharedRig(t *testing.T, options cache.InformerOptions[*corev1.Pod]) *sharedRig {
	t.Helper()
	s := &sharedRig{Harness: cachetest.New(t)}
	if options.ErrorHandler == nil {
		options.ErrorHandler = s.Report
	}
	s.SharedInformer = cache.NewSharedInformer(s.Harness, &corev1.Pod{}, options)
	return s
}

func (s *sharedRig) start() {
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
func (s *sharedRig) add(handler cache.EventHandler[*corev1.Pod], options cache.HandlerOptions) *cache.Registration {
	s.T.Helper()
	r, err := s.AddEventHandler(handler, options)
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// expect requires what a handler was told since the last time.
func (s *sharedRig) expect(n *eventNotes, want string) {
	s.T.Helper()
	synctest.Wait()
	if got := n.take(); got != want {
		s.T.Errorf("told [%s], want [%s]", got, want)
	}
}

// words sorts what was told of a state, which comes in no order.
func sortedWords(told string) string {
	words := strings.Split(told, ", ")
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// ran runs an informer until the test ends, and returns it synced.
func ran[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, options cache.InformerOptions[T]) *cache.SharedInformer[T] {
	t.Helper()
	informer := cache.NewSharedInformer(lw, example, options)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- informer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	if err := informer.WaitForSync(within(t)); err != nil {
		t.Fatal(err)
	}
	return informer
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cachetest.Timeout)
	t.Cleanup(cancel)
	return ctx
}

// underReflector runs a reflector of three Pods into a store, in a bubble.
func underReflector(t *testing.T, store func(t *testing.T) cache.ReflectorStore[*corev1.Pod], test func(r *cachetest.Harness), before ...func(r *cachetest.Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		for _, prepare := range before {
			prepare(r)
		}
		stop := r.RunReflector(store(t))
		test(r)
		stop()
	})
}

func must[T any](value T, ok bool) T {
	if !ok {
		panic("not there")
	}
	return value
}
