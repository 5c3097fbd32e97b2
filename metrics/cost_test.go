// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/metrics"
)

// The size of a large program: a hundred types in five namespaces, with four handlers each.
const (
	manyInformers  = 500
	handlersOfMany = 4
)

// runMany runs many informers until the test ends.
func runMany(tb testing.TB, handlers int) *cache.Group {
	group := &cache.Group{}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	tb.Cleanup(func() { cancel(); running.Wait() })
	for i := range manyInformers {
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(newPod("a"))
		pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: fmt.Sprint("cost ", i%100)})
		for range handlers {
			if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{}, cache.HandlerOptions{}); err != nil {
				tb.Fatal(err)
			}
		}
		group.Add(pods)
		running.Go(func() {
			if err := pods.Run(ctx); err != nil {
				tb.Error(err)
			}
		})
		if err := pods.WaitForSync(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	return group
}

// collect runs a collection and returns the number of metrics.
func collect(collector prometheus.Collector) (n int) {
	collected := make(chan prometheus.Metric, 1000)
	go func() {
		defer close(collected)
		collector.Collect(collected)
	}()
	for range collected {
		n++
	}
	return n
}

// TestCostOfACollection checks that a collection makes at most three allocations for each metric.
// BenchmarkCollect500 measures how long it takes.
func TestCostOfACollection(t *testing.T) {
	collector, n := metrics.NewCollector(runMany(t, handlersOfMany)), 0
	allocations := testing.AllocsPerRun(10, func() { n = collect(collector) })
	if n > manyInformers*(22+handlersOfMany*7) || allocations > float64(3*n) {
		t.Errorf("%d metrics with %.0f allocations, want at most 22 of an informer, 7 of a handler, and 3 allocations of each", n, allocations)
	}
}

func BenchmarkCollect500(b *testing.B) {
	for _, handlers := range []int{0, 4, 20} {
		b.Run(fmt.Sprint(handlers, " handlers each"), func(b *testing.B) {
			collector := metrics.NewCollector(runMany(b, handlers))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = collect(collector)
			}
			b.ReportMetric(float64(n), "metrics")
		})
	}
}

func BenchmarkGather500(b *testing.B) {
	for _, handlers := range []int{0, 4, 20} {
		b.Run(fmt.Sprint(handlers, " handlers each"), func(b *testing.B) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(metrics.NewCollector(runMany(b, handlers)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := registry.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
