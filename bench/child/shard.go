// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// ShardJob is a child process that is the first of several replicas that share a shardserver's
// Pods: it holds its own, and receives an update of each.
type ShardJob struct {
	Side     string // a key of shardInformers
	URL      string // of a shardserver
	Replicas int
	Pods     int // of the replica
}

// slots is the number of parts of equal size of the hashes of UIDs. It is a multiple of the number
// of replicas.
const slots = 32

// Owns reports whether the first of several replicas holds the Pod of a UID. Its slots are not
// adjacent, as package shard scatters them.
func Owns(uid string, replicas int) bool { return int(scope.HashOf(uid)/slotSize)%replicas == 0 }

// slotSize is the number of hashes in a slot.
const slotSize = 1 << 64 / slots

// ShardCost is the result of a ShardJob.
type ShardCost struct {
	Heap            float64 // bytes, after garbage collection, above the idle process
	SyncCPU         float64 // seconds, until synced
	SyncReceived    float64 // bytes, until synced
	UpdatesCPU      float64 // seconds, for an update of each of the server's Pods
	UpdatesReceived float64 // bytes
}

// shardArg is the argument after Arg that selects a ShardJob.
const shardArg = "shard"

// RunShard runs the job in a child process.
func RunShard(ctx context.Context, job ShardJob) (cost ShardCost, err error) {
	err = run(ctx, job.Side, &cost, shardArg, "-side", job.Side, "-url", job.URL,
		"-replicas", strconv.Itoa(job.Replicas), "-pods", strconv.Itoa(job.Pods))
	if err != nil {
		return ShardCost{}, fmt.Errorf("%s, one of %d replicas: %w", job.Side, job.Replicas, err)
	}
	return cost, nil
}

func shardMain(args []string, out io.Writer) error {
	var job ShardJob
	flags := flag.NewFlagSet(shardArg, flag.ContinueOnError)
	flags.StringVar(&job.Side, "side", Packed, "informer to run")
	flags.StringVar(&job.URL, "url", "", "URL of the server")
	flags.IntVar(&job.Replicas, "replicas", 1, "number of replicas")
	flags.IntVar(&job.Pods, "pods", 0, "number of Pods of this replica")
	cpuProfile := flags.String("cpuprofile", "", "write a CPU profile to this file")
	memProfile := addMemProfile(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	stop, err := harness.StartCPUProfile(*cpuProfile)
	if err != nil {
		return err
	}
	cost, err := job.do(ctx, *memProfile)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(cost)
}

// do runs the informer and measures its cost.
func (job ShardJob) do(ctx context.Context, memProfile string) (cost ShardCost, err error) {
	newInformer, ok := shardInformers()[job.Side]
	if !ok {
		return cost, fmt.Errorf("unknown side %q", job.Side)
	}
	config, received := countReceived(Server{URL: job.URL}.config())
	counts := newCounts(job.Pods, 1)
	inf, err := newInformer(config, job.Replicas, counts)
	if err != nil {
		return cost, err
	}
	debug.FreeOSMemory()
	heap, cpu := process.LiveHeap(), process.CPU()
	stopped := inf.run(ctx)
	if err := footprint.Poll(ctx, func() bool { return inf.synced() && counts.added() == job.Pods }); err != nil {
		return cost, fmt.Errorf("initial sync: %w after %d of %d Pods", err, counts.added(), job.Pods)
	}
	cost.SyncCPU, cost.SyncReceived = (process.CPU() - cpu).Seconds(), float64(received.Load())
	err = job.measureUpdates(ctx, inf, counts, &cost)
	cost.UpdatesReceived = float64(received.Load()) - cost.SyncReceived
	cost.Heap = process.LiveHeap() - heap
	err = errors.Join(err, harness.WriteHeapProfile(memProfile))
	inf.stop()
	<-stopped
	return cost, err
}

// measureUpdates requests an update of each Pod, and waits until the informer has received the last
// and delivered its own.
func (job ShardJob) measureUpdates(ctx context.Context, inf syncInformer, counts counts, cost *ShardCost) error {
	runtime.GC() // of the sync, which would otherwise be done during the updates
	cpu := process.CPU()
	version, err := SyncJob{Server: Server{URL: job.URL}}.post(ctx, "update", 0)
	if err != nil {
		return err
	}
	if err := footprint.Poll(ctx, func() bool { return inf.version() == version && counts.updated() == job.Pods }); err != nil {
		return fmt.Errorf("updates: %w after %d of %d, at version %s of %s", err, counts.updated(), job.Pods, inf.version(), version)
	}
	cost.UpdatesCPU = (process.CPU() - cpu).Seconds()
	return nil
}
