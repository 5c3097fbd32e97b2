// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinformer/kinformer/cache"
)

// Collector collects the metrics of informers. It implements prometheus.Collector, and its methods
// are safe for concurrent use.
type Collector struct{ informers cache.Group }

// NewCollector returns a Collector of informers and factories, and of groups of them:
//
//	registry.MustRegister(metrics.NewCollector(pods, factory, group))
//
// Use clientgo.Options.Group or clientgo.Views for informers with client-go's interfaces. Informers
// that a factory makes later are collected, too, and those that were passed twice are collected
// once.
func NewCollector(informers ...cache.Viewable) *Collector {
	c := &Collector{}
	c.informers.Add(informers...)
	return c
}

// Describe implements prometheus.Collector. The descriptions do not depend on the informers.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, family := range families() {
		descs <- family.desc
	}
}

// Collect implements prometheus.Collector. It omits informers that have stopped.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	views := c.informers.Views()
	names := make([]string, len(views))
	for i, view := range views { // before the statuses: a name is free again only after a status says Stopped
		names[i] = view.UniqueName()
	}
	for i, view := range views {
		out := output{metrics: metrics, labels: newInformerLabels(names[i], view.Kind())}
		collectStatus(out, view.Status())
	}
}

// collectStatus sends the metrics of one informer.
func collectStatus(out output, status cache.Status) {
	if status.Phase == cache.PhaseStopped {
		return
	}
	collectPhase(out, status.Phase)
	if status.Phase == cache.PhaseInvalid {
		return
	}
	for _, family := range informerFamilies {
		if value, ok := family.value(&status); ok {
			out.send(family.family, out.labels.informer, value)
		}
	}
	for _, family := range reflectorFamilies {
		if value, ok := family.value(&status); ok {
			out.send(family.family, out.labels.name, value)
		}
	}
	collectRequests(out, status)
	collectRelists(out, status)
	for i := range status.Handlers {
		collectHandler(out, &status.Handlers[i])
	}
}

// phases are the values of the label "phase".
var phases = []cache.Phase{ //nolint:gochecknoglobals // a constant
	cache.PhaseIdle, cache.PhaseListing, cache.PhaseWatching, cache.PhaseResuming, cache.PhaseRetrying, cache.PhaseInvalid,
}

func collectPhase(out output, phase cache.Phase) {
	for _, one := range phases {
		out.send(phaseFamily, out.labels.and(label("phase", string(one))), boolean(one == phase))
	}
}

func collectRelists(out output, status cache.Status) {
	for reason, n := range status.Relists {
		out.send(relistsFamily, out.labels.and(label("reason", reason)), float64(n))
	}
}

func collectRequests(out output, status cache.Status) {
	for request, n := range status.Requests {
		out.send(requestsFamily, out.labels.and(label("verb", request.Verb), label("code", request.Code)), float64(n))
	}
}

func collectHandler(out output, handler *cache.HandlerStatus) {
	labels := out.labels.and(label("handler", handler.UniqueName))
	for _, family := range handlerFamilies {
		out.send(family.family, labels, family.value(handler))
	}
}
