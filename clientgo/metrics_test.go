// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var (
	podResource        = corev1.SchemeGroupVersion.WithResource("pods")
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
)

// newInformerName returns a name that is released after the test.
func newInformerName(t *testing.T) *clientcache.InformerName {
	t.Helper()
	name, err := clientcache.NewInformerName(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(name.Release)
	return name
}

// series is a metric that records its values.
type series struct{ recorder[float64] }

func (s *series) Set(value float64)     { s.record(value) }
func (s *series) Observe(value float64) { s.record(value) }

// metricsProvider is a provider whose metrics record their values. All informers share the metrics.
type metricsProvider struct {
	queued, latency, version series
	ids                      []clientcache.InformerNameAndResource // of the latency metrics
}

func (m *metricsProvider) NewQueuedItemMetric(clientcache.InformerNameAndResource) clientcache.GaugeMetric {
	return &m.queued
}

func (m *metricsProvider) NewProcessingLatencyMetric(id clientcache.InformerNameAndResource) clientcache.HistogramMetric {
	m.ids = append(m.ids, id)
	return &m.latency
}

func (m *metricsProvider) NewStoreResourceVersionMetric(clientcache.InformerNameAndResource) clientcache.GaugeMetric {
	return &m.version
}

// expect checks the values since its last call: the queue length before and after each event, a
// latency for each event, and the last version.
func (m *metricsProvider) expect(t *testing.T, what string, events int, version float64) {
	t.Helper()
	synctest.Wait()
	queued := slices.Repeat([]float64{1, 0}, events)
	if got := m.queued.take(); !slices.Equal(got, queued) {
		t.Errorf("after %s the queue lengths are %v, want %v", what, got, queued)
	}
	if got := m.latency.take(); len(got) != events {
		t.Errorf("after %s the latencies are %v, want %d", what, got, events)
	}
	if got := m.version.take(); len(got) == 0 || got[len(got)-1] != version {
		t.Errorf("after %s the versions are %v, want %v at the end", what, got, version)
	}
}

// processProvider returns the provider of the process, which can be set once.
var processProvider = sync.OnceValue(func() *metricsProvider {
	m := &metricsProvider{}
	clientcache.SetInformerMetricsProvider(m)
	return m
})

// TestMetrics checks that client-go's metrics count each event and have the version of the store.
func TestMetrics(t *testing.T) {
	for name, options := range map[string]clientcache.SharedIndexInformerOptions{
		"provider of options": {InformerMetricsProvider: &metricsProvider{}},
		"provider of process": {},
		"packed":              {InformerMetricsProvider: &metricsProvider{}},
		"without name":        {InformerMetricsProvider: &metricsProvider{}, Identifier: clientcache.InformerNameAndResource{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := options.InformerMetricsProvider.(*metricsProvider)
			if !ok {
				m = processProvider()
			}
			named := name != "without name"
			if named {
				options.Identifier = newInformerName(t).WithResource(podResource)
			}
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				h := runWith(t, server, clientgo.Options{Packed: name == "packed"}, options)
				if !named {
					server.Delete("ns/a")
					h.expectEvents("A a@2 initial", "D a@3")
					if got := m.version.take(); got != nil || m.ids != nil {
						t.Errorf("an informer without a name has metrics %v, %v", m.ids, got)
					}
					return
				}
				m.expect(t, "the initial list", 0, 2)
				server.Create(cachetest.Pod("b"))
				server.Delete("ns/a")
				m.expect(t, "two events", 2, 4)
				server.SkipVersions(5)
				server.Bookmark()
				m.expect(t, "a bookmark", 0, 9)
				h.expectEvents("A a@2 initial", "A b@3", "D a@4")
			})
		})
	}
}

// TestControllerMetrics checks that a controller has these metrics.
func TestControllerMetrics(t *testing.T) {
	m, identifier := &metricsProvider{}, newInformerName(t).WithResource(podResource)
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		runController(t, clientgo.With(clientgo.Options{}).NewInformerWithOptions, clientcache.InformerOptions{
			ListerWatcher: server, Identifier: identifier, InformerMetricsProvider: m,
		})
		m.expect(t, "the initial list", 0, 2)
		server.Delete("ns/a")
		m.expect(t, "an event", 1, 3)
	})
}

// TestFactoryMetrics checks that each informer of a factory is named once, by its resource, however
// and however often the factory is asked for it.
func TestFactoryMetrics(t *testing.T) {
	named := newInformerName(t)
	factory := plain.NewSharedInformerFactoryWithOptions(clientfake.NewClientset(), 0, plain.WithInformerName(named))
	m := processProvider()
	before := len(m.ids)
	factory.Core().V1().Pods().Informer()
	for _, resource := range []schema.GroupVersionResource{podResource, deploymentResource} {
		if _, err := factory.ForResource(resource); err != nil {
			t.Error(err)
		}
	}
	factory.Apps().V1().Deployments().Informer()
	var resources []schema.GroupVersionResource
	for _, id := range m.ids[before:] {
		resources = append(resources, id.GroupVersionResource())
		if !id.Reserved() || id.Name() != named.Name() {
			t.Errorf("metrics of %v of informer name %q", id.GroupVersionResource(), id.Name())
		}
	}
	if !slices.Equal(resources, []schema.GroupVersionResource{podResource, deploymentResource}) {
		t.Errorf("metrics of %v", resources)
	}
}
