// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// timeout is how long a test waits for an expected state.
const timeout = 30 * time.Second

// informer is a running informer of kinformer. It is stopped at the end of the test.
type informer[T object] struct {
	store      cache.Reader[T]
	controller *cache.Controller
	changed    chan struct{} // receives a value after an event
}

func start[T object](t *testing.T, lw cache.ListerWatcher, example T) *informer[T] {
	t.Helper()
	i := &informer[T]{changed: make(chan struct{}, 1)}
	i.store, i.controller = cache.NewInformer(lw, example, 0, i)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- i.controller.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return i
}

// OnEvent implements cache.EventHandler.
func (i *informer[T]) OnEvent(cache.Event[T]) {
	select {
	case i.changed <- struct{}{}:
	default:
	}
}

// awaitPods waits until the store holds exactly the named Pods.
func (i *informer[T]) awaitPods(t *testing.T, names []string) {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for !i.hasPods(names) {
		select {
		case <-i.changed:
		case <-timer.C:
			t.Fatalf("the store has %q after %v, want %q; status %+v", i.store.ListKeys(), timeout, names, i.controller.Status())
		}
	}
}

func (i *informer[T]) hasPods(names []string) bool {
	for _, name := range names {
		if _, ok := i.store.GetByKey(namespace + "/" + name); !ok {
			return false
		}
	}
	return i.store.Len() == len(names)
}

// responses records the Content-Types of the responses to lists and watches of Pods.
type responses struct {
	mu    sync.Mutex
	types []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (r *responses) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && strings.HasSuffix(request.URL.Path, "/pods") {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.types = append(r.types, response.Header.Get("Content-Type"))
		}
		return response, err
	})
}

// expect checks that there were responses, all of one content type, whatever its parameters.
func (r *responses) expect(t *testing.T, contentType string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.types) == 0 {
		t.Error("no list or watch of Pods")
	}
	for _, got := range r.types {
		if !strings.HasPrefix(got, contentType) {
			t.Errorf("the response has Content-Type %q, want %q", got, contentType)
		}
	}
}
