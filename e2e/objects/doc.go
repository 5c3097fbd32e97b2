// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package objects generates Nodes and Pods as found in production clusters, and performs the writes
// of the components on them: a ReplicaSet controller creates a Pod, the scheduler binds it, a
// network plugin annotates it, and the kubelet reports its status. Each uses its own field manager,
// so that the server computes managedFields of realistic size. A running Pod has 5-13 KB in
// protobuf, 7 KB in the median, more than half of it managedFields.
//
// All choices depend on a seed: the same seed results in the same objects, except for fields that
// the server sets.
package objects
