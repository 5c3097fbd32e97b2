// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/shardserver"
)

// Row sharding measures one of several replicas that share Pods by the hashes of their UIDs: the
// initial list, then an update of each Pod. Each side is a child process that lists and watches
// over plain HTTP, with a handler: a key handler if it is packed.
//
// client-go's ways are a Reflector with a store that keeps a replica's own Pods, as
// kube-state-metrics has it, and an informer whose handler passes over the others. The latter costs
// the same whatever the number of replicas.

func sharding(scale Scale) []harness.Experiment {
	r := &replicas{pods: scale.ShardedPods}
	var experiments []harness.Experiment
	for _, v := range []variant{
		{child.Packed, "packed", "The UIDs scatter the Pods of a workload over all replicas, so that each replica holds first Pods of nearly all workloads, which take more room and CPU to pack."},
		{child.Kinformer, "live", "Half of the CPU is the garbage collector's, which marks the live heap. With the gate on, the misses are within the spread between runs."},
	} {
		experiments = append(experiments, r.alone(v))
		for _, n := range []int{2, 4, 8} {
			experiments = append(experiments, r.withGate(v, n))
		}
		for _, n := range []int{2, 4, 8} {
			experiments = append(experiments, r.withoutGate(v, n))
		}
	}
	experiments[len(experiments)-1].Close = r.release
	return experiments
}

// shardingRounds limits the rounds, which take 20 seconds.
const shardingRounds = 3

// variant is a side, its description in the table, and the reason for its missed goals.
type variant struct{ side, description, reason string }

// replica is a run: the first of n replicas, from a server with or without the feature gate.
type replica struct {
	side string
	n    int
	gate bool
}

// replicas measures replicas, each in a child process. Experiments share the runs.
type replicas struct {
	pods int // of all replicas

	encoded *dataset.Encoded
	uids    []string
	runs    map[replica][]child.ShardCost
}

func (r *replicas) setup(n int, gate string, v variant) string {
	which := "one replica"
	if n > 1 {
		which = fmt.Sprintf("one of %d replicas", n)
	}
	return fmt.Sprintf("%s, gate %s, %s", which, gate, v.description)
}

// oneReplica is the name of a side that holds all Pods.
func (v variant) oneReplica() string { return v.side + ", one replica" }

// alone compares one replica with client-go.
func (r *replicas) alone(v variant) harness.Experiment {
	return harness.Experiment{
		Row: "sharding", Setup: r.setup(1, "off", v),
		Sides:   []string{v.side, child.ClientGoFilteringStore, child.ClientGoFilteringHandler},
		Metrics: metricsOf(harness.Goal{}, harness.Goal{}, harness.Goal{}, false), MaxRounds: shardingRounds,
		Prepare: r.prepare(replica{v.side, 1, false}, replica{child.ClientGoFilteringStore, 1, false}, replica{child.ClientGoFilteringHandler, 1, false}),
	}
}

// withGate compares one of n replicas with one that holds all Pods.
func (r *replicas) withGate(v variant, n int) harness.Experiment {
	share := shareOf(n).MissedBecause(v.reason)
	return harness.Experiment{
		Row: "sharding", Setup: r.setup(n, "on", v), Sides: []string{v.side, v.oneReplica()},
		Metrics: metricsOf(share, share, share, n != 4), MaxRounds: shardingRounds,
		Prepare: r.prepare(replica{v.side, n, true}, replica{v.side, 1, false}),
	}
}

// withoutGate compares the heap of one of n replicas with that of one that holds all Pods, and its
// CPU with client-go's.
func (r *replicas) withoutGate(v variant, n int) harness.Experiment {
	return harness.Experiment{
		Row: "sharding", Setup: r.setup(n, "off", v),
		Sides:   []string{v.side, v.oneReplica(), child.ClientGoFilteringStore},
		Metrics: metricsOf(shareOf(n).MissedBecause(v.reason), harness.AtMost(1.0/4).MissedBecause(v.reason), harness.Goal{}, n != 4), MaxRounds: shardingRounds,
		Prepare: func() ([]harness.Measure, error) {
			measures, err := r.prepare(replica{v.side, n, false}, replica{v.side, 1, false}, replica{child.ClientGoFilteringStore, n, false})()
			if err == nil {
				measures[1] = heapOnly(measures[1])
			}
			return measures, err
		},
	}
}

// shareOf is the goal of one of n replicas, relative to one that holds all Pods.
func shareOf(n int) harness.Goal { return harness.AtMost(1.15 / float64(n)) }

// metricsOf returns the metrics. The table of the summary has a selection of them.
func metricsOf(heap, cpu, received harness.Goal, detail bool) []harness.Metric {
	return []harness.Metric{
		{Name: "heap", Unit: "MB", Goal: heap, Detail: detail},
		{Name: "CPU until synced", Unit: "ms", Goal: cpu, Detail: detail},
		{Name: "CPU of an update of each Pod", Unit: "ms", Goal: cpu, Detail: detail},
		{Name: "bytes received", Unit: "MB", Goal: received, Detail: true},
	}
}

func figuresOf(cost child.ShardCost) []float64 {
	return []float64{cost.Heap / 1e6, cost.SyncCPU * 1e3, cost.UpdatesCPU * 1e3, (cost.SyncReceived + cost.UpdatesReceived) / 1e6}
}

// heapOnly returns the measure of a side with which only the heap is compared.
func heapOnly(measure harness.Measure) harness.Measure {
	return func() ([]float64, error) {
		figures, err := measure()
		if err != nil {
			return nil, err
		}
		return []float64{figures[0], math.NaN(), math.NaN(), math.NaN()}, nil
	}
}

// prepare returns an experiment's Prepare function.
func (r *replicas) prepare(sides ...replica) func() ([]harness.Measure, error) {
	return func() (measures []harness.Measure, err error) {
		for _, side := range sides {
			round := 0
			measures = append(measures, func() ([]float64, error) {
				cost, err := r.round(side, round)
				round++
				return figuresOf(cost), err
			})
		}
		return measures, r.encode()
	}
}

// encode encodes the Pods, unless an earlier experiment has.
func (r *replicas) encode() (err error) {
	if r.encoded != nil {
		return nil
	}
	r.runs = make(map[replica][]child.ShardCost)
	pods := dataset.NewPods(perWorkload, 1).Take(r.pods)
	for _, pod := range pods {
		r.uids = append(r.uids, string(pod.UID))
	}
	r.encoded, err = dataset.Encode("v1", "Pod", pods)
	return err
}

// round returns the cost of a replica in a round, which it measures unless an earlier experiment
// has.
func (r *replicas) round(side replica, n int) (child.ShardCost, error) {
	for n >= len(r.runs[side]) {
		cost, err := r.run(side)
		if err != nil {
			return cost, err
		}
		r.runs[side] = append(r.runs[side], cost)
	}
	return r.runs[side][n], nil
}

// run measures a replica in a child process, with a server of its own.
func (r *replicas) run(side replica) (cost child.ShardCost, err error) {
	server, err := shardserver.Start(r.encoded, r.uids, side.gate)
	if err != nil {
		return cost, err
	}
	own := 0
	for _, uid := range r.uids {
		if child.Owns(uid, side.n) {
			own++
		}
	}
	cost, err = child.RunShard(context.Background(), child.ShardJob{Side: side.side, URL: server.URL(), Replicas: side.n, Pods: own})
	return cost, errors.Join(err, server.Close())
}

func (r *replicas) release() error {
	r.encoded, r.uids, r.runs = nil, nil, nil
	return nil
}
