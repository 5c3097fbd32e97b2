// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package dataset makes objects for benchmarks that resemble those of a production cluster.
//
// A set of Pods has 20, 3 or 1 Pods per workload (see [PodsPerWorkload]). Workloads differ in
// containers (1-4), environment variables (0-30), volumes (1-8), probes, ports, labels,
// annotations, affinities, tolerations and field managers. The Pods of one workload differ as they
// do in a cluster: in names, UIDs, resource versions, times, nodes, addresses, container IDs and
// the name of the token volume. A Pod is 4 to 8 KB of protobuf, 6.4 KB on average, of which half is
// managedFields: the ones that the API server would write for the Pod.
//
// The i-th object of a set depends only on the seed and on i, so a million Pods need not be in
// memory at the same time.
//
// The objects of a set share strings, which decoded objects do not. Benchmarks of memory must
// therefore encode and decode them; see [Encoded] and [Packed]. Servers list these in pages, as API
// servers do; see [PageOf].
package dataset
