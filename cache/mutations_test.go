package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// mutated runs an informer whose handler writes into what it is told of, and returns what
// the ErrorHandler hears, of the check at the end: one meanwhile would be a data race.
func mutated(t *testing.T, options cache.InformerOptions[*corev1.Pod], write func(*corev1.Pod)) (errs []error) {
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

// A handler that writes into an object of the cache is found out: object and field.
func TestDetectMutations(t *testing.T) {
	write := func(p *corev1.Pod) { p.Labels["x"] = "2" }
	asked := cache.InformerOptions[*corev1.Pod]{DetectMutations: true}
	errs := mutated(t, asked, write)
	if len(errs) != 1 || !errors.Is(errs[0], cache.ErrMutated) || !cachetest.ErrorContains(`"ns/a"`)(errs[0]) || !cachetest.ErrorContains(`metadata.labels.x was "1", is "2"`)(errs[0]) {
		t.Errorf("heard %v", errs)
	}
	if errs := mutated(t, asked, func(*corev1.Pod) {}); len(errs) != 0 {
		t.Errorf("nobody has written: %v", errs)
	}
	if errs := mutated(t, cache.InformerOptions[*corev1.Pod]{}, write); len(errs) != 0 {
		t.Errorf("nobody has asked: %v", errs)
	}
}

func TestDetectMutationsByEnvironment(t *testing.T) {
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	if errs := mutated(t, cache.InformerOptions[*corev1.Pod]{}, func(p *corev1.Pod) { p.Spec.NodeName = "n" }); len(errs) != 1 || !cachetest.ErrorContains("spec.nodeName")(errs[0]) {
		t.Errorf("heard %v", errs)
	}
	if errs := mutated(t, cache.InformerOptions[*corev1.Pod]{Packed: true}, func(p *corev1.Pod) { p.Spec.NodeName = "n" }); len(errs) != 0 {
		t.Errorf("packed: heard %v", errs)
	}
	packed := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: true, DetectMutations: true})
	if err := packed.Run(t.Context()); !cachetest.ErrorContains("cannot be combined with Packed")(err) {
		t.Errorf("Run: %v", err)
	}
}
