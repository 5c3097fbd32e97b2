// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/metrics"
)

// TestMetricsBesideControllerRuntime registers package metrics' collector in the registry that
// controller-runtime serves, and collects both.
func TestMetricsBesideControllerRuntime(t *testing.T) {
	pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
	ctrlmetrics.Registry.MustRegister(metrics.NewCollector(pods))
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
	}
	if all := strings.Join(names, " "); !strings.Contains(all, "kinformer_objects") || !strings.Contains(all, "reflector_lists_total") {
		t.Errorf("collected %s", all)
	}
}
