package clientgo_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

var (
	podResource        = corev1.SchemeGroupVersion.WithResource("pods")
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
)

// newName returns a name of informers that is free again after the test.
func newName(t *testing.T) *clientcache.InformerName {
	t.Helper()
	name, err := clientcache.NewInformerName(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(name.Release)
	return name
}

// series is a metric that writes down its values.
type series struct{ written[float64] }

func (s *series) Set(value float64)     { s.note(value) }
func (s *series) Observe(value float64) { s.note(value) }

// meter is a provider of metrics: of one informer, for those who look at the values.
type meter struct {
	queued, latency, version series
	ids                      []clientcache.InformerNameAndResource // that have a latency
}

func (m *meter) NewQueuedItemMetric(clientcache.InformerNameAndResource) clientcache.GaugeMetric {
	return &m.queued
}

func (m *meter) NewProcessingLatencyMetric(id clientcache.InformerNameAndResource) clientcache.HistogramMetric {
	m.ids = append(m.ids, id)
	return &m.latency
}

func (m *meter) NewStoreResourceVersionMetric(clientcache.InformerNameAndResource) clientcache.GaugeMetric {
	return &m.version
}

// expect compares what was measured since the last time.
func (m *meter) expect(t *testing.T, what string, events int, version float64) {
	t.Helper()
	synctest.Wait()
	queued := slices.Repeat([]float64{1, 0}, events)
	if got := m.queued.take(); !slices.Equal(got, queued) {
		t.Errorf("%s: the queue had %v, want %v", what, got, queued)
	}
	if got := m.latency.take(); len(got) != events {
		t.Errorf("%s: %v were measured, want %d", what, got, events)
	}
	if got := m.version.take(); len(got) == 0 || got[len(got)-1] != version {
		t.Errorf("%s: the store was at %v, want %v", what, got, version)
	}
}

// processMeter is the provider that the process has: there is one.
var processMeter = sync.OnceValue(func() *meter {
	m := &meter{}
	clientcache.SetInformerMetricsProvider(m)
	return m
})

// client-go's metrics hear of each event, and of each version that the store has reached.
func TestMetrics(t *testing.T) {
	for name, options := range map[string]clientgo.Options{
		"of a provider":    {InformerMetricsProvider: &meter{}},
		"of the process":   {},
		"of a packed one":  {InformerMetricsProvider: &meter{}, Packed: true},
		"of nobody's name": {InformerMetricsProvider: &meter{}, Identifier: clientcache.InformerNameAndResource{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := options.InformerMetricsProvider.(*meter)
			if !ok {
				m = processMeter()
			}
			named := name != "of nobody's name"
			if named {
				options.Identifier = newName(t).WithResource(podResource)
			}
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				s := run(t, server, options)
				if !named {
					server.Delete("ns/a")
					s.expect("A a@2 initial", "D a@3")
					if got := m.version.take(); got != nil || m.ids != nil {
						t.Errorf("there are metrics: %v, %v", m.ids, got)
					}
					return
				}
				m.expect(t, "the first state", 0, 2)
				server.Create(pod("b"))
				server.Delete("ns/a")
				m.expect(t, "two events", 2, 4)
				server.SkipVersions(5)
				server.Bookmark()
				m.expect(t, "a bookmark", 0, 9)
				s.expect("A a@2 initial", "A b@3", "D a@4")
			})
		})
	}
}

// A factory's informers are named each by its resource, however and how often they are asked
// for.
func TestMetricsOfFactories(t *testing.T) {
	for name, ask := range map[string]func(clientgo.FactoryOptions){
		"typed": func(options clientgo.FactoryOptions) {
			factory := clientgo.NewSharedInformerFactory(fake.NewClientset(), options)
			factory.Core().V1().Pods().Informer()
			for _, resource := range []schema.GroupVersionResource{podResource, deploymentResource} {
				if _, err := factory.ForResource(resource); err != nil {
					t.Error(err)
				}
			}
			factory.Apps().V1().Deployments().Informer()
		},
		"dynamic": func(options clientgo.FactoryOptions) {
			factory := clientgo.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClient(scheme.Scheme), options)
			for _, resource := range []schema.GroupVersionResource{podResource, deploymentResource, podResource} {
				factory.ForResource(resource)
			}
		},
		"metadata": func(options clientgo.FactoryOptions) {
			factory := clientgo.NewMetadataSharedInformerFactory(metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), options)
			for _, resource := range []schema.GroupVersionResource{podResource, deploymentResource, podResource} {
				factory.ForResource(resource)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &meter{}
			named := newName(t)
			ask(clientgo.FactoryOptions{Options: clientgo.Options{InformerMetricsProvider: m}, InformerName: named})
			var resources []schema.GroupVersionResource
			for _, id := range m.ids {
				resources = append(resources, id.GroupVersionResource())
				if !id.Reserved() || id.Name() != named.Name() {
					t.Errorf("%v of %q", id.GroupVersionResource(), id.Name())
				}
			}
			if !slices.Equal(resources, []schema.GroupVersionResource{podResource, deploymentResource}) {
				t.Errorf("there are metrics of %v", resources)
			}
		})
	}
}
