package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// TestRepeatedErrorIsLoggedEveryFiveMinutes fails lists with errors that differ only in the timeout
// of their URL and in their local port.
func TestRepeatedErrorIsLoggedEveryFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var unroutable atomic.Bool
		attempts := 0
		fail := func() error {
			cause := "connection refused"
			if unroutable.Load() {
				cause = "no route to host"
			}
			attempts++
			return fmt.Errorf("Get \"https://10.0.0.1:6443/api/v1/pods?timeoutSeconds=%d\": read tcp 10.0.0.2:%d: %s",
				300+attempts, 40000+attempts, cause)
		}
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		logged := func() int {
			return strings.Count(logger.GetSink().(ktesting.Underlier).GetBuffer().String(), "Failed to list, will retry")
		}
		reflector := cache.NewReflector(&cache.ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, fail() },
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("unexpected watch")
			},
		}, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{Logger: logger})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- reflector.Run(ctx) }()

		cachetest.Advance(4 * time.Minute)
		if logged() != 1 || attempts < 5 {
			t.Errorf("%d attempts with one cause were logged %d times in 4 minutes, want once", attempts, logged())
		}
		unroutable.Store(true)
		cachetest.Advance(time.Minute)
		if logged() != 2 {
			t.Errorf("%d errors were logged, want 2: the cause has changed", logged())
		}
		cachetest.Advance(6 * time.Minute)
		if logged() != 3 {
			t.Errorf("%d errors were logged, want 3: five minutes have passed", logged())
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// mutationErrors runs an informer whose handler calls write with Pod a, and returns the reported
// errors. The check runs after the informer has stopped; an earlier one would race with the handler.
func mutationErrors(t *testing.T, options cache.InformerOptions[*corev1.Pod], write func(*corev1.Pod)) (errs []error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards errs
		options.ErrorHandler = func(_ context.Context, err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(cachetest.Pod("a", cachetest.WithLabel("x", "1")))
		server.Create(cachetest.Pod("b", cachetest.WithLabel("x", "1")))
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, options)
		handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(p *corev1.Pod) {
			if p.Name == "a" {
				write(p)
			}
		}}
		if _, err := informer.AddEventHandler(handler, cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- informer.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return errs
}

// TestDetectMutations checks that an error names the object and the field that a handler modified.
func TestDetectMutations(t *testing.T) {
	write := func(p *corev1.Pod) { p.Labels["x"] = "2" }
	detect := cache.InformerOptions[*corev1.Pod]{DetectMutations: true}
	errs := mutationErrors(t, detect, write)
	if len(errs) != 1 || !errors.Is(errs[0], cache.ErrMutated) || !cachetest.ErrorContains(`"ns/a"`)(errs[0]) || !cachetest.ErrorContains(`metadata.labels.x was "1", is "2"`)(errs[0]) {
		t.Errorf("errors %v", errs)
	}
	if errs := mutationErrors(t, detect, func(*corev1.Pod) {}); len(errs) != 0 {
		t.Errorf("errors without a modification: %v", errs)
	}
	if errs := mutationErrors(t, cache.InformerOptions[*corev1.Pod]{}, write); len(errs) != 0 {
		t.Errorf("errors without DetectMutations: %v", errs)
	}
}

// TestDetectMutationsByEnvironment enables the check with client-go's environment variable.
func TestDetectMutationsByEnvironment(t *testing.T) {
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	if errs := mutationErrors(t, cache.InformerOptions[*corev1.Pod]{}, func(p *corev1.Pod) { p.Spec.NodeName = "n" }); len(errs) != 1 || !cachetest.ErrorContains("spec.nodeName")(errs[0]) {
		t.Errorf("errors %v", errs)
	}
	if errs := mutationErrors(t, cache.InformerOptions[*corev1.Pod]{Packed: true}, func(p *corev1.Pod) { p.Spec.NodeName = "n" }); len(errs) != 0 {
		t.Errorf("packed: errors %v", errs)
	}
	packed := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: true, DetectMutations: true})
	if err := packed.Run(t.Context()); !cachetest.ErrorContains("cannot be combined with Packed")(err) {
		t.Errorf("Run: %v", err)
	}
}
