// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"slices"
	"time"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// Scale is the size of the experiments. The goals apply to FullScale; tests use less.
type Scale struct {
	Window      time.Duration // duration of measurements that count operations per second
	Listed      int           // Pods that readers list
	Keys        int           // entries of stores that are read by key
	Gets        int           // reads of one measurement
	Events      int           // events that are sent at once
	Updates     int           // updates while a handler blocks
	Informed    int           // objects of an informer to which a handler is added
	StoreSizes  []int         // entries of stores whose memory is measured
	Pods        int           // Pods that a server has
	MillionPods int           // Pods of the largest packed collection
	Idle        time.Duration // for which idle informers are measured
	Namespaces  int           // that an informer holds as scopes, or that have an informer each
	SmallSizes  []int         // Pods of informers whose heap is measured
	ShardedPods int           // that replicas share
	PartialPods int           // PartialObjects of one process
}

// FullScale returns the scale of the published figures.
func FullScale() Scale {
	return Scale{
		Window:      1500 * time.Millisecond,
		Listed:      10_000,
		Keys:        200_000,
		Gets:        2_000_000,
		Events:      200_000,
		Updates:     1_000_000,
		Informed:    200_000,
		StoreSizes:  []int{20_000, 200_000, 1_000_000},
		Pods:        20_000,
		MillionPods: 1_000_000,
		Idle:        30 * time.Second,
		Namespaces:  500,
		SmallSizes:  []int{20, 100, 1000, 20_000},
		ShardedPods: 100_000,
		PartialPods: 100_000,
	}
}

// perWorkload is the size of a workload if a row does not compare several.
const perWorkload dataset.PodsPerWorkload = 20

// The groups of rows that can be measured separately.
const (
	Sync      = "sync"      // from a server to a handler
	Store     = "store"     // the store, its readers and its events
	Memory    = "memory"    // memory of whole collections
	Partial   = "partial"   // objects of a few fields
	Million   = "million"   // a million Pods, which takes minutes, and gigabytes for client-go
	Adapter   = "adapter"   // package clientgo
	Small     = "small"     // informers of few objects
	Scopes    = "scopes"    // namespaces as scopes
	Sharding  = "sharding"  // replicas that share 100,000 Pods
	APIServer = "apiserver" // from a real kube-apiserver, which takes minutes to build the first time
)

// Row is one or more rows of the table, and the group they belong to.
type Row struct {
	Group       string
	Experiments func(Scale) []harness.Experiment
}

// All returns every row, in the order of the table.
func All() []Row {
	return []Row{
		{Sync, initialSync},
		{Sync, enableStreaming},
		{Sync, inflate},
		{Sync, packedEvent},
		{Sync, watchResume},
		{Sync, decodePods},
		{Memory, memoryPerObject},
		{Memory, omitFields},
		{Memory, indexMemory},
		{Partial, partialObject},
		{Partial, fieldIndex},
		{Store, readersBesideWriter},
		{Store, getByKey},
		{Store, listBySelector},
		{Store, eventPipeline},
		{Store, eventLatency},
		{Store, observedEvents},
		{Store, blockedHandler},
		{Store, addHandler},
		{Store, storeMemory},
		{Store, snapshotMap},
		{Store, packing},
		{Adapter, adapter},
		{Million, million},
		{Small, smallInformers},
		{Small, startRequests},
		{Small, importAlone},
		{Small, preferCBOR},
		{Small, idleInformers},
		{Scopes, scopes},
		{Scopes, scopeCommit},
		{Sharding, sharding},
		{APIServer, syncFromAPIServer},
		{APIServer, listOrWatchList},
		{APIServer, enableStreamingFromAPIServer},
	}
}

// Groups returns the names of the groups.
func Groups() (names []string) {
	for _, row := range All() {
		if !slices.Contains(names, row.Group) {
			names = append(names, row.Group)
		}
	}
	return names
}

// In returns the experiments of the given groups.
func In(scale Scale, groups ...string) (experiments []harness.Experiment) {
	for _, row := range All() {
		if slices.Contains(groups, row.Group) {
			experiments = append(experiments, row.Experiments(scale)...)
		}
	}
	return experiments
}

// bothSides returns the sides of most experiments.
func bothSides() []string { return []string{"kinformer", "client-go"} }
