// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/metrics"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// podInformer is an informer of Pods on a fake server, in a synctest bubble.
type podInformer struct {
	*cache.SharedInformer[*corev1.Pod]
	server *fake.ListerWatcher[*corev1.Pod]
}

// newPods returns an informer of the Pods a, b and c that is not running. At the end of the test it
// stops, so that its name is free.
func newPods(t *testing.T, name string) podInformer {
	t.Helper()
	server := fake.NewListerWatcher(&corev1.Pod{})
	for _, pod := range []string{"a", "b", "c"} {
		server.Create(newPod(pod))
	}
	options := cache.InformerOptions[*corev1.Pod]{Name: name, ErrorHandler: func(context.Context, error) {}}
	pods := podInformer{cache.NewSharedInformer(server, &corev1.Pod{}, options), server}
	t.Cleanup(func() {
		if err := pods.Run(t.Context()); err != nil && !errors.Is(err, cache.ErrStopped) { // t.Context has ended
			t.Error(err)
		}
	})
	return pods
}

func newPod(name string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "ns", name
	return pod
}

// start runs the informer until stop is called.
func (p podInformer) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- p.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

// handle adds a handler.
func (p podInformer) handle(t *testing.T, name string, onEvent func()) *cache.Registration {
	t.Helper()
	handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { onEvent() }}
	registration, err := p.AddEventHandler(handler, cache.HandlerOptions{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return registration
}

// register returns a registry with a collector of informers.
func register(informers ...cache.Viewable) *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(informers...))
	return registry
}

// scrape returns the text that Prometheus reads.
func scrape(t *testing.T, registry prometheus.Gatherer) string {
	t.Helper()
	response := httptest.NewRecorder()
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if response.Code != http.StatusOK {
		t.Fatalf("code %d: %s", response.Code, response.Body)
	}
	return response.Body.String()
}

var advance = cachetest.Advance
