package controllerruntime

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// patience is far more than anything here takes.
const patience = 30 * time.Second

// informer is one of ours that runs, and ends with the test.
type informer[T object] struct {
	store      cache.Reader[T]
	controller *cache.Controller
	told       chan struct{} // has a value when something was told since it was last read
}

func start[T object](t *testing.T, lw cache.ListerWatcher, example T) *informer[T] {
	t.Helper()
	i := &informer[T]{told: make(chan struct{}, 1)}
	i.store, i.controller = cache.NewInformer(lw, example, 0, i)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- i.controller.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return i
}

// OnEvent makes it its own handler.
func (i *informer[T]) OnEvent(cache.Event[T]) {
	select {
	case i.told <- struct{}{}:
	default:
	}
}

// has waits until the store holds the Pods of those names.
func (i *informer[T]) has(t *testing.T, names []string) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !i.holds(names) {
		select {
		case <-i.told:
		case <-timeout.C:
			t.Fatalf("the store has %q after %v, want %q; status %+v", i.store.ListKeys(), patience, names, i.controller.Status())
		}
	}
}

func (i *informer[T]) holds(names []string) bool {
	for _, name := range names {
		if _, ok := i.store.GetByKey(namespace + "/" + name); !ok {
			return false
		}
	}
	return i.store.Len() == len(names)
}

// answers are the Content-Types of the answers to lists and watches of Pods.
type answers struct {
	mu    sync.Mutex
	types []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (a *answers) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && strings.HasSuffix(request.URL.Path, "/pods") {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.types = append(a.types, response.Header.Get("Content-Type"))
		}
		return response, err
	})
}

// expect holds that something was answered, and that in one content type, whatever its parameters.
func (a *answers) expect(t *testing.T, contentType string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.types) == 0 {
		t.Error("nobody asked for Pods")
	}
	for _, got := range a.types {
		if !strings.HasPrefix(got, contentType) {
			t.Errorf("the server answered with %q, want %q", got, contentType)
		}
	}
}
