package clientgo_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
)

// server is a fake server of Pods as client-go's interface. The first Pod is at version 2.
type server struct {
	*fake.ListerWatcher[*corev1.Pod]

	onWatch func(*metav1.ListOptions) // changes what is asked for
}

var _ clientcache.ListerWatcherWithContext = (*server)(nil)

func newServer(names ...string) *server {
	s := &server{ListerWatcher: fake.NewListerWatcher(&corev1.Pod{})}
	for _, name := range names {
		s.Create(pod(name))
	}
	return s
}

func (s *server) listWatch() *clientcache.ListWatch {
	return &clientcache.ListWatch{ListWithContextFunc: s.ListWithContext, WatchFuncWithContext: s.WatchWithContext}
}

func (s *server) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

func (s *server) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *server) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.ListerWatcher.List(ctx, options)
}

func (s *server) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if s.onWatch != nil {
		s.onWatch(&options)
	}
	return s.ListerWatcher.Watch(ctx, options)
}

// verbs returns the requests so far: l, w, and W for a WatchList.
func (s *server) verbs() string {
	var verbs []byte
	for _, request := range s.Requests() {
		switch {
		case request.Verb == "list":
			verbs = append(verbs, 'l')
		case request.Options.SendInitialEvents != nil:
			verbs = append(verbs, 'W')
		default:
			verbs = append(verbs, 'w')
		}
	}
	return string(verbs)
}

// patience waits, for a minute of the bubble's time at most, until an informer's store has a
// key.
func patience(s *scene, key string) {
	s.t.Helper()
	deadline := time.After(time.Minute)
	for {
		synctest.Wait()
		if _, ok, _ := s.informer.GetStore().GetByKey(key); ok {
			return
		}
		select {
		case <-deadline:
			s.t.Fatalf("%s has not come", key)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// failures is a watch error handler that writes down what it is told.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) listen(t *testing.T) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return func(informer clientcache.SharedIndexInformer) {
		if err := informer.SetWatchErrorHandler(func(_ *clientcache.Reflector, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.errs = append(f.errs, err)
		}); err != nil {
			t.Error(err)
		}
	}
}

func (f *failures) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.errs)
}
