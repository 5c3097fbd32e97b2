package cache_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/mutation"
	"github.com/kinformer/kinformer/internal/reflector"
)

// TestSharedOptionsHaveTheSameType compares the fields that InformerOptions and ReflectorOptions have
// in common. InformerOptions has each field of ReflectorOptions.
func TestSharedOptionsHaveTheSameType(t *testing.T) {
	informerOptions := reflect.TypeFor[cache.InformerOptions[*corev1.Pod]]()
	for field := range reflect.TypeFor[cache.ReflectorOptions]().Fields() {
		same, ok := informerOptions.FieldByName(field.Name)
		if !ok || same.Type != field.Type {
			t.Errorf("ReflectorOptions.%s is %s, InformerOptions has %v", field.Name, field.Type, same.Type)
		}
	}
}

// TestSentinelErrorsAreThoseOfTheEngine compares the errors and phases that package cache declares
// with those that the engine returns.
func TestSentinelErrorsAreThoseOfTheEngine(t *testing.T) {
	for public, internal := range map[error]error{
		cache.ErrAlreadyRunning: informer.ErrAlreadyRunning, cache.ErrStopped: informer.ErrStopped, cache.ErrHandlerBlocked: informer.ErrHandlerBlocked,
		cache.ErrStale: reflector.ErrStale, cache.ErrVersionRegressed: reflector.ErrVersionRegressed, cache.ErrStalled: reflector.ErrStalled,
		cache.ErrShortWatches: reflector.ErrShortWatches, cache.ErrNoVersion: reflector.ErrNoVersion, cache.ErrQuarantined: reflector.ErrQuarantined,
		cache.ErrMutated: mutation.ErrMutated,
	} {
		if !errors.Is(internal, public) {
			t.Errorf("%q is not %q", internal, public)
		}
	}
	for public, internal := range map[cache.Phase]reflector.Phase{
		cache.PhaseIdle: reflector.Idle, cache.PhaseListing: reflector.Listing, cache.PhaseWatching: reflector.Watching,
		cache.PhaseResuming: reflector.Resuming, cache.PhaseRetrying: reflector.Retrying, cache.PhaseStopped: reflector.Stopped,
	} {
		if string(public) != string(internal) {
			t.Errorf("phase %q is not %q", internal, public)
		}
	}
}

// TestWaitForDelete deletes and recreates a Pod: the wait ends when the store no longer holds the UID.
func TestWaitForDelete(t *testing.T) {
	shared(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedRig) {
		pod, _ := s.SharedInformer.Store().GetByKey("ns/a")
		ctx, cancel := context.WithTimeout(s.T.Context(), time.Minute)
		defer cancel()
		if err := s.WaitForDelete(ctx, pod); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("ns/a")(err) {
			t.Errorf("of a Pod that exists: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- s.WaitForDelete(s.T.Context(), pod) }()
		s.Update(cachetest.Pod("a"))
		s.Update(cachetest.Pod("b"))
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("WaitForDelete returned %v after an update", err)
		default:
		}
		s.Harness.Delete("ns/a")
		s.Create(cachetest.Pod("a"))
		if err := <-done; err != nil {
			t.Errorf("of a Pod that was deleted and recreated: %v", err)
		}
		if err := s.WaitForDelete(s.T.Context(), pod); err != nil {
			t.Errorf("of a Pod that is gone: %v", err)
		}
	})
}

// TestWaitSaysThatRunWasNotCalled waits for an informer that nothing runs.
func TestWaitSaysThatRunWasNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Logger: logger})
		logged := func() int {
			return strings.Count(logger.GetSink().(ktesting.Underlier).GetBuffer().String(), "Run has not been called")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		err := pods.WaitForSync(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("Run has not been called")(err) {
			t.Errorf("error %v", err)
		}
		if n := logged(); n != 0 {
			t.Errorf("logged %d times before 5 seconds", n)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err = pods.WaitForSync(ctx); err == nil || logged() != 1 {
			t.Errorf("error %v, logged %d times", err, logged())
		}
	})
}

// TestWaitForSyncOfAnInformerRunLater waits before another goroutine calls Run.
func TestWaitForSyncOfAnInformerRunLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		done := make(chan error, 1)
		go func() { done <- pods.WaitForSync(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- pods.Run(ctx) }()
		if err := <-done; err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// runFunc is a Run method.
type runFunc func(ctx context.Context) error

func (f runFunc) Run(ctx context.Context) error { return f(ctx) }

// TestRunAllEndsTheOthersAfterAnError runs one function that fails, and two that run until their
// context ends.
func TestRunAllEndsTheOthersAfterAnError(t *testing.T) {
	broken, late := errors.New("broken"), errors.New("late")
	wait := func(err error) runFunc {
		return func(ctx context.Context) error {
			<-ctx.Done()
			return err
		}
	}
	err := cache.RunAll(t.Context(), wait(nil), runFunc(func(context.Context) error { return broken }), wait(late))
	if !errors.Is(err, broken) || !errors.Is(err, late) {
		t.Errorf("error %v, want both", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cache.RunAll(ctx, wait(nil), wait(nil)); err != nil {
		t.Errorf("error %v after the context ended", err)
	}
}

// TestZeroValuesAreEmpty reads a Snapshot and a Lister that were not made of a store.
func TestZeroValuesAreEmpty(t *testing.T) {
	var snapshot cache.Snapshot[*corev1.Pod]
	if _, ok := snapshot.GetByKey("ns/a"); ok || snapshot.Len() != 0 || len(snapshot.List()) != 0 || len(snapshot.ListKeys()) != 0 || snapshot.ResourceVersion() != "" {
		t.Error("the zero Snapshot is not empty")
	}
	for key := range snapshot.All() {
		t.Errorf("the zero Snapshot has %q", key)
	}
	_, byIndex := snapshot.ByIndex("node", "a")
	_, keys := snapshot.IndexKeys("node", "a")
	_, values := snapshot.ListIndexValues("node")
	if byIndex == nil || keys == nil || values == nil {
		t.Errorf("errors of the zero Snapshot: %v, %v, %v", byIndex, keys, values)
	}
	var lister cache.Lister[*corev1.Pod]
	if _, err := lister.Namespace("ns").Get("a"); err == nil || apierrors.IsNotFound(err) || len(lister.List(nil)) != 0 {
		t.Errorf("the zero Lister: %v", err)
	}
}

// TestReaderAllIsSorted iterates over a store.
func TestReaderAllIsSorted(t *testing.T) {
	store := cache.NewStore[*corev1.Pod](nil, nil)
	if err := store.Replace([]*corev1.Pod{cachetest.Pod("b"), cachetest.Pod("c"), cachetest.Pod("a")}, ""); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key, pod := range store.All() {
		keys = append(keys, key)
		if "ns/"+pod.Name != key {
			t.Errorf("%s under %s", pod.Name, key)
		}
	}
	if !slices.Equal(keys, []string{"ns/a", "ns/b", "ns/c"}) {
		t.Errorf("keys %q", keys)
	}
}

// TestWithFieldSelector selects one Pod on the server.
func TestWithFieldSelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		r.Source = cache.ListWatchOf(podClient{ListerWatcher: r.ListerWatcher}, cache.WithFieldSelector(fields.OneTermEqualSelector("metadata.name", "b")))
		r.Run(cache.ReflectorOptions{})
		if got := r.Requests()[0].Options.FieldSelector; got != "metadata.name=b" {
			t.Errorf("field selector %q", got)
		}
		r.CheckStop()
	})
}

// oldListerWatcher is a ListerWatcher in client-go's shape, without contexts.
type oldListerWatcher struct {
	*fake.ListerWatcher[*corev1.Pod]
}

func (lw oldListerWatcher) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListerWatcher.List(context.Background(), options)
}

func (lw oldListerWatcher) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.ListerWatcher.Watch(context.Background(), options)
}

// TestListWatchFromClientGo runs an informer on client-go's form of a ListerWatcher.
func TestListWatchFromClientGo(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		r.ExpectSynced()
		r.Delete("ns/b")
		r.ExpectEvents("D b@5")
	}, func(r *cachetest.Harness) { r.Source = cache.ListWatchFromClientGo(oldListerWatcher{r.ListerWatcher}) })
}

// TestFactoryComparesOptions asks for one informer with options that differ.
func TestFactoryComparesOptions(t *testing.T) {
	inFactory(t, func(f *factoryRig) {
		first := cache.InformerOptions[*corev1.Pod]{Name: "pods"}
		ref, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, first)
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Release()
		for option, other := range map[string]cache.InformerOptions[*corev1.Pod]{
			"Name":      {},
			"Packed":    {Name: "pods", Packed: true},
			"Indexers":  {Name: "pods", Indexers: cache.Indexers[*corev1.Pod]{"namespace": cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)}},
			"Transform": {Name: "pods", Transform: func(pod *corev1.Pod) (*corev1.Pod, error) { return pod, nil }},
			"Filter":    {Name: "pods", Filter: func(*corev1.Pod) bool { return true }},
			"PageSize":  {Name: "pods", PageSize: 10},
		} {
			if _, err := cache.InformerFor(f.Factory, f.pods(""), &corev1.Pod{}, other); !cachetest.ErrorContains(option)(err) {
				t.Errorf("another %s: %v", option, err)
			}
		}
		closures := &cache.ListWatch{ListFunc: f.lw.List, WatchFunc: f.lw.Watch}
		if _, err := cache.InformerFor(f.Factory, closures, &corev1.Pod{}, first); !cachetest.ErrorContains("ListWatchOf")(err) {
			t.Errorf("a ListWatch of unknown selection: %v", err)
		}
	})
}

// TestReflectorAndFactoryReportTheirCondition reads Status, HasSynced and HealthCheck.
func TestReflectorAndFactoryReportTheirCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := fake.NewListerWatcher(&corev1.Pod{})
		pods := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{})
		factory := cache.NewFactory(cache.FactoryOptions{})
		ref, err := cache.InformerFor(factory, cache.ListWatchOf(podClient{ListerWatcher: lw}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Release()
		if pods.HasSynced() || factory.HasSynced() || pods.HealthCheck(0)(nil) == nil || factory.HealthCheck(0)(nil) == nil {
			t.Error("synced or healthy before Run")
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- cache.RunAll(ctx, pods, factory) }()
		synctest.Wait()
		if !pods.HasSynced() || !factory.HasSynced() || pods.HealthCheck(time.Minute)(nil) != nil || factory.HealthCheck(time.Minute)(nil) != nil {
			t.Errorf("not synced or not healthy: %+v, %+v", pods.Status(), factory.Status())
		}
		if s := pods.Status(); s.Phase != cache.PhaseWatching || s.Name != "*v1.Pod" {
			t.Errorf("status %+v", s)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
