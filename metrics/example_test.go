// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/metrics"
)

// A program registers one collector of its informers and factories.
func ExampleNewCollector() {
	client := fake.NewClientset()
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
	factory := cache.NewFactory(cache.FactoryOptions{})

	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(pods, factory))
	// http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	names, err := testutil.GatherAndCount(registry, "kinformer_objects")
	fmt.Println(names, err)
	// Output: 1 <nil>
}

// The informers of package clientgo are collected as a factory or a program makes them.
func ExampleNewCollector_clientgo() {
	client := fake.NewClientset()
	var group cache.Group
	factory := clientgo.With(clientgo.Options{Group: &group}).NewSharedInformerFactory(client, 0)
	generated := clientgo.Generated(informers.NewSharedInformerFactory(client, 0), clientgo.Options{Group: &group})

	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(&group))

	factory.Core().V1().Pods().Informer()
	core.New(generated, "", nil).V1().Nodes().Informer()
	names, err := testutil.GatherAndCount(registry, "kinformer_objects")
	fmt.Println(names, err)
	// Output: 2 <nil>
}
