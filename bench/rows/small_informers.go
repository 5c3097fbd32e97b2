// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/listserver"
)

// Row small-informers measures many informers of few objects in one process, as most controllers
// have them: one for each namespace, over plain HTTP from a server in another process, each with a
// handler. Rows packed-informers, live-informers and imported-informers are the heap of any number
// of informers; the last are package clientgo's, by the import alone.

func smallInformers(scale Scale) (experiments []harness.Experiment) {
	experiments = append(experiments,
		small(scale.Namespaces, "packed", child.PackedInformers, harness.AtMost(0.3), harness.AtMost(0.6)),
		small(scale.Namespaces, "live", child.Informers, harness.AtMost(0.8).MissedBecause(missedLive), harness.AtMost(0.9)),
		small(scale.Namespaces, "by the import alone", child.AdapterInformers, harness.AtMost(0.8).MissedBecause(missedLive), harness.Goal{}),
		small(scale.Namespaces, "packed, StartAny", child.PackedInformersStartAny, harness.Goal{}, harness.Goal{}),
		small(scale.Namespaces, "live, StartAny", child.InformersStartAny, harness.Goal{}, harness.Goal{}),
		empty(scale.Namespaces),
		packedByNode(min(1000, scale.Pods)),
	)
	for _, informers := range []int{1, max(scale.Namespaces/10, 2)} {
		for _, pods := range scale.SmallSizes {
			if informers*pods > scale.Pods && informers > 1 {
				continue
			}
			experiments = append(experiments,
				heapOf(informers, pods, "packed-informers", child.PackedInformers),
				heapOf(informers, pods, "live-informers", child.Informers),
				heapOf(informers, pods, "imported-informers", child.AdapterInformers))
		}
	}
	return experiments
}

// Why goals are missed, by heap profiles and stacks.
const (
	missedLive  = "The decoded objects themselves are 240 kB, 0.61x. The rest is an informer without Pods, and its tables and entries."
	missedEmpty = "net/http's connection is 10 kB, and client-go's watch 6 kB. Eight goroutines are the informer's, and one more is the benchmark's."
)

// heapOf measures the heap of informers.
func heapOf(informers, pods int, row, side string) harness.Experiment {
	return heapOfSides(informers, pods, row, fmt.Sprintf("%d of %d Pods", informers, pods), harness.Goal{}, side, child.ClientGoInformers)
}

// packedByNode measures the heap of a packed informer with an index by the node's name.
func packedByNode(pods int) harness.Experiment {
	setup := fmt.Sprintf("1 of %d Pods, index by node", pods)
	return heapOfSides(1, pods, "packed-informers", setup, harness.AtMost(1.0/18), child.PackedInformersByNode, child.ClientGoInformersByNode)
}

func heapOfSides(informers, pods int, row, setup string, goal harness.Goal, sides ...string) harness.Experiment {
	return harness.Experiment{
		Row: row, Setup: setup, Sides: sides, MaxRounds: 3,
		Metrics: []harness.Metric{{Name: "heap", Unit: "kB/informer", Goal: goal}},
		Prepare: smallRuns(informers, pods, sides, func(cost child.ScopesCost) []float64 { return []float64{cost.Heap / 1e3} }),
	}
}

// small measures informers of a few Pods.
func small(informers int, variant, side string, heap, allocations harness.Goal) harness.Experiment {
	sides := []string{side, child.ClientGoInformers}
	return harness.Experiment{
		Row: "small-informers", Setup: fmt.Sprintf("%s, %d Pods each", variant, podsPerNamespace), Sides: sides,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "kB/informer", Goal: heap},
			{Name: "allocations until synced", Unit: "/informer", Goal: allocations},
			{Name: "CPU until synced", Unit: "µs/informer"},
		},
		Prepare: smallRuns(informers, podsPerNamespace, sides, func(cost child.ScopesCost) []float64 {
			return []float64{cost.Heap / 1e3, cost.Allocs, cost.CPU * 1e6}
		}),
	}
}

// empty measures informers without objects.
func empty(informers int) harness.Experiment {
	sides := []string{child.Informers, child.ClientGoInformers}
	return harness.Experiment{
		Row: "small-informers", Setup: "no Pods", Sides: sides,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "kB/informer", Goal: harness.Within(24, "kB/informer").MissedBecause(missedEmpty)},
			{Name: "goroutines", Unit: "/informer", Goal: harness.Within(8, "/informer").MissedBecause(missedEmpty)},
		},
		Prepare: smallRuns(informers, 0, sides, func(cost child.ScopesCost) []float64 {
			return []float64{cost.Heap / 1e3, cost.Goroutines}
		}),
	}
}

// smallRuns returns an experiment's Prepare function. Each figure is divided by the number of
// informers.
func smallRuns(informers, pods int, sides []string, figures func(child.ScopesCost) []float64) func() ([]harness.Measure, error) {
	return func() ([]harness.Measure, error) {
		return measureEach(sides, func(side string) ([]float64, error) {
			cost, err := smallRun(child.ScopesJob{Side: side, Namespaces: informers, Pods: pods})
			each := figures(cost)
			for i := range each {
				each[i] /= float64(informers)
			}
			return each, err
		}), nil
	}
}

// smallRun runs a side with a server of its own.
func smallRun(job child.ScopesJob) (cost child.ScopesCost, err error) {
	var names []string
	for n := range job.Namespaces {
		names = append(names, child.Namespace(n))
	}
	server, err := listserver.StartNamespaces(names, job.Pods)
	if err != nil {
		return cost, err
	}
	job.URL = server.URL()
	cost, err = child.RunScopes(context.Background(), job)
	return cost, errors.Join(err, server.Close())
}
