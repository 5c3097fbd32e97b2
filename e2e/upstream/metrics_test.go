// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/metrics"
)

// TestMetricsBesideComponentBase registers package metrics' collector in the registry where
// component-base has registered client-go's metrics, and collects both.
func TestMetricsBesideComponentBase(t *testing.T) {
	pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
	legacyregistry.RawMustRegister(metrics.NewCollector(pods))
	families, err := legacyregistry.DefaultGatherer.Gather()
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
