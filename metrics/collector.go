// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/follow"
	"github.com/kinformer/kinformer/shard"
)

// Collector collects the metrics of informers. It implements prometheus.Collector, and its methods
// are safe for concurrent use.
type Collector struct {
	informers cache.Group
	followers map[uint64]*follow.Follower // by the IDs of their informers of CustomResourceDefinitions
}

// NewCollector returns a Collector of informers and factories, and of groups of them:
//
//	registry.MustRegister(metrics.NewCollector(pods, factory, group))
//
// Use clientgo.Options.Group or clientgo.Views for informers with client-go's interfaces. Informers
// that a factory makes later are collected, too, and those that were passed twice are collected
// once. A *follow.Follower has its own metrics, too, if it is passed itself and not in a group.
func NewCollector(informers ...cache.Viewable) *Collector {
	c := &Collector{followers: make(map[uint64]*follow.Follower)}
	c.informers.Add(informers...)
	for _, informer := range informers {
		if follower, ok := informer.(*follow.Follower); ok && len(follower.Views()) > 0 {
			c.followers[follower.Views()[0].ID()] = follower
		}
	}
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
		collectInformer(out, view.Status(), view.Indexes)
		if follower := c.followers[view.ID()]; follower != nil && view.Status().Phase != cache.PhaseStopped {
			collectFollower(out, follower.Status())
		}
	}
	collectMembers(output{metrics: metrics}, shard.MembersOf(views))
}

// collectInformer sends the metrics of one informer.
func collectInformer(out output, status cache.Status, indexes func() map[string]int) {
	if status.Phase == cache.PhaseStopped {
		return
	}
	out.send(phaseFamily, out.labels.and(label("phase", string(status.Phase))), 1)
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
	for index := range indexes() {
		if !utf8.ValidString(index) { // a value of a label must be
			continue
		}
		out.send(indexErrorsFamily, out.labels.and(label("index", index)), float64(status.Store.IndexErrors[index]))
	}
	for i := range status.Handlers {
		collectHandler(out, &status.Handlers[i])
	}
}

// collectRequests sends the counts of requests and relists that have occurred.
func collectRequests(out output, status cache.Status) {
	for request, n := range status.Requests.Results {
		out.send(requestsFamily, out.labels.and(label("verb", request.Verb), label("code", request.Code)), float64(n))
	}
	for reason, n := range status.Requests.Relists {
		if n > 0 {
			out.send(relistReasonsFamily, out.labels.and(label("reason", reason)), float64(n))
		}
	}
}

func collectHandler(out output, handler *cache.HandlerStatus) {
	labels := out.labels.and(label("handler", handler.UniqueName))
	for _, family := range handlerFamilies {
		out.send(family.family, labels, family.value(handler))
	}
}

// collectFollower sends the metrics of a follower, with the labels of its informer of definitions.
func collectFollower(out output, status follow.Status) {
	for result, n := range map[string]uint64{
		"Changed": status.Changed, "Unchanged": status.Unchanged, "Failed": status.Failed,
	} {
		out.send(discoveryFamily, out.labels.and(label("result", result)), float64(n))
	}
	if !status.AnsweredAt.IsZero() {
		out.send(discoveryAnsweredFamily, out.labels.informer, float64(status.AnsweredAt.UnixMilli())/1000)
	}
}

// collectMembers sends the metrics of members that run. Of several with equal groups and
// identities, one has metrics.
func collectMembers(out output, members []*shard.Member) {
	type name struct{ group, member string }
	sent := make(map[name]bool)
	for _, member := range members {
		status := member.Status()
		name := name{status.Group, status.Identity}
		if !status.Running || sent[name] {
			continue
		}
		sent[name] = true
		collectMember(out, status)
	}
}

func collectMember(out output, status shard.Status) {
	labels := []*dto.LabelPair{label("group", status.Group), label("member", status.Identity)}
	for _, family := range memberFamilies {
		if value, ok := family.value(&status); ok {
			out.send(family.family, labels, value)
		}
	}
	for reason, n := range status.Taken {
		out.send(takenFamily, append(slices.Clip(labels), label("reason", reason)), float64(n))
	}
	for reason, n := range status.Lost {
		out.send(lostFamily, append(slices.Clip(labels), label("reason", reason)), float64(n))
	}
}
