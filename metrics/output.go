// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// output sends the metrics of one informer.
type output struct {
	metrics chan<- prometheus.Metric
	labels  informerLabels
}

// send sends a metric of a family. The labels must be sorted by name.
func (o output) send(family *family, labels []*dto.LabelPair, value float64) {
	o.metrics <- &metric{family, labels, value}
}

// informerLabels are the labels of an informer. Its metrics share them.
type informerLabels struct {
	informer []*dto.LabelPair // informer and kind
	name     []*dto.LabelPair // name, as client-go calls it
}

func newInformerLabels(name, kind string) informerLabels {
	return informerLabels{
		informer: []*dto.LabelPair{label("informer", name), label("kind", kind)},
		name:     []*dto.LabelPair{label("name", name)},
	}
}

// and returns the labels of the informer and others, sorted by name.
func (l informerLabels) and(others ...*dto.LabelPair) []*dto.LabelPair {
	labels := slices.Concat(others, l.informer)
	slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return slices.Clip(labels)
}

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// metric is a prometheus.Metric. Unlike those of client_golang it shares its labels with others.
type metric struct {
	family *family
	labels []*dto.LabelPair // not modified, and without spare capacity
	value  float64
}

// Desc implements prometheus.Metric.
func (m *metric) Desc() *prometheus.Desc { return m.family.desc }

// Write implements prometheus.Metric.
func (m *metric) Write(to *dto.Metric) error {
	to.Label = m.labels
	if m.family.isCounter {
		to.Counter = &dto.Counter{Value: &m.value}
	} else {
		to.Gauge = &dto.Gauge{Value: &m.value}
	}
	return nil
}
