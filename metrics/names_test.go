// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/metrics"
)

// series returns the labels of the series of one metric, in order.
func series(text, metric string) string {
	var found []string
	for _, line := range regexp.MustCompile(`(?m)^`+metric+`\{(.*)\} `).FindAllStringSubmatch(text, -1) {
		found = append(found, line[1])
	}
	return strings.Join(found, " ")
}

func expectSeries(t *testing.T, registry prometheus.Gatherer, metric, want string) {
	t.Helper()
	if got := series(scrape(t, registry), metric); got != want {
		t.Errorf("%s of %s, want %s", metric, got, want)
	}
}

// TestSeriesVanish checks that a stopped informer has no series, and that one which was made later
// has its name.
func TestSeriesVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group cache.Group
		registry := register(&group)
		first, second := newPods(t, "vanish"), newPods(t, "vanish")
		group.Add(first, second)
		first.handle(t, "handler", func() {})
		stopFirst, stopSecond := first.start(t), second.start(t)
		expectSeries(t, registry, "kinformer_objects", `informer="vanish",kind="Pod" informer="vanish#2",kind="Pod"`)
		expectSeries(t, registry, "kinformer_handler_calls_total", `handler="handler",informer="vanish",kind="Pod"`)
		stopFirst()
		if text := scrape(t, registry); strings.Contains(text, `"vanish"`) || !strings.Contains(text, `"vanish#2"`) {
			t.Errorf("series of a stopped informer, or none of the other one:\n%s", text)
		}
		third := newPods(t, "vanish")
		group.Add(third)
		expectSeries(t, registry, "kinformer_synced", `informer="vanish",kind="Pod" informer="vanish#2",kind="Pod"`)
		stopSecond()
		third.start(t)()
		if text := scrape(t, registry); text != "" {
			t.Errorf("series though every informer has stopped:\n%s", text)
		}
	})
}

// TestStoppedInformerOfNoGroup checks that an informer that was passed alone, and is kept, has no
// series after it has stopped.
func TestStoppedInformerOfNoGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newPods(t, "alone")
		registry := register(always{pods})
		stop := pods.start(t)
		expectSeries(t, registry, "kinformer_objects", `informer="alone",kind="Pod"`)
		stop()
		if text := scrape(t, registry); text != "" {
			t.Errorf("series of a stopped informer:\n%s", text)
		}
	})
}

// always is a Viewable that a Group does not know, and does not forget.
type always struct{ cache.Viewable }

// Views implements cache.Viewable.
func (a always) Views() []cache.View { return append(a.Viewable.Views(), a.Viewable.Views()...) }

// TestEqualNames checks the labels of informers and handlers with equal names, without a name, and
// with one that is not UTF-8.
func TestEqualNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c, d := newPods(t, "equal"), newPods(t, "equal"), newPods(t, ""), newPods(t, "bad\xff")
		for range 2 {
			a.handle(t, "h", func() {})
			b.handle(t, "h", func() {})
		}
		registry := register(a, b, c, d, a)
		for range 2 {
			expectSeries(t, registry, "kinformer_handler_synced", `handler="h",informer="equal",kind="Pod" handler="h",informer="equal#2",kind="Pod" `+
				`handler="h#2",informer="equal",kind="Pod" handler="h#2",informer="equal#2",kind="Pod"`)
			expectSeries(t, registry, "reflector_lists_total", `name="Pod" name="bad`+"\uFFFD"+`" name="equal" name="equal#2"`)
		}
	})
}

// TestCollectWhileInformersComeAndGo collects while informers of equal names and their handlers
// start and stop. A collection with two series of the same labels is an error.
func TestCollectWhileInformersComeAndGo(t *testing.T) {
	var group cache.Group
	registry := register(&group)
	ctx, cancel := context.WithCancel(t.Context())
	var working, collecting sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for i := range 30 {
				comeAndGo(t, &group, fmt.Sprint("race ", i%2))
			}
		})
	}
	for range 2 {
		collecting.Go(func() {
			for ctx.Err() == nil {
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
	cancel()
	collecting.Wait()
	if text := scrape(t, registry); strings.Contains(text, "race") {
		t.Errorf("series though every informer has stopped:\n%s", text)
	}
}

// comeAndGo runs an informer until it has synced, with handlers that are removed and added again.
func comeAndGo(t *testing.T, group *cache.Group, name string) {
	pods := newPods(t, name)
	group.Add(pods)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		t.Error(err)
	}
	first := pods.handle(t, "h", func() {})
	for range 10 {
		second := pods.handle(t, "h", func() {})
		first.Cancel()
		first = second
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestInformersOfAFactory checks that a factory's informers are collected as they are made.
func TestInformersOfAFactory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		factory := cache.NewFactory(cache.FactoryOptions{})
		registry := register(factory)
		if text := scrape(t, registry); text != "" {
			t.Errorf("series without an informer:\n%s", text)
		}
		lw := cache.ListWatchOf(podClient{fake.NewListerWatcher(&corev1.Pod{})}).InNamespace("")
		ref, err := cache.InformerFor(factory, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "made"})
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Release()
		expectSeries(t, registry, "kinformer_synced", `informer="made",kind="Pod"`)
	})
}

// podClient is a typed client of a fake server.
type podClient struct {
	*fake.ListerWatcher[*corev1.Pod]
}

// List returns a list of Pods.
func (c podClient) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := c.ListerWatcher.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.(*corev1.PodList), nil
}

// TestDescribeWithoutInformers checks that the descriptions do not depend on the informers, and
// that a collector can be registered once.
func TestDescribeWithoutInformers(t *testing.T) {
	registry := register()
	err := registry.Register(metrics.NewCollector(newPods(t, "pods")))
	if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); !ok {
		t.Errorf("error %v, want AlreadyRegisteredError", err)
	}
}

// TestNamesOfOthers registers the collector beside metrics with the names, labels and help of
// component-base's and controller-runtime's.
func TestNamesOfOthers(t *testing.T) {
	registry := register(newPods(t, "pods"))
	resource := []string{"name", "group", "version", "resource"}
	registry.MustRegister(
		prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "informer_queued_items", Help: "Number of items currently queued in the FIFO."}, resource),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "informer_processing_latency_seconds", Help: "Time taken to process events."}, resource),
		prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "informer_store_resource_version", Help: "The 15 least significant digits."}, resource),
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total", Help: "Number of HTTP requests."}, []string{"code", "method", "host"}),
	)
	scrape(t, registry)
	others := prometheus.NewRegistry()
	others.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "reflector_lists_total", Help: "Lists."}, []string{"name"}))
	if err := others.Register(metrics.NewCollector()); err == nil {
		t.Error("registered beside another reflector_lists_total")
	}
	prometheus.WrapRegistererWithPrefix("program_", others).MustRegister(metrics.NewCollector(newPods(t, "pods")))
	prometheus.WrapRegistererWith(prometheus.Labels{"a": "b"}, prometheus.WrapRegistererWithPrefix("other_", others)).
		MustRegister(metrics.NewCollector(newPods(t, "pods")))
	scrape(t, others)
}
