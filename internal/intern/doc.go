// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package intern deduplicates equal values in bounded tables: strings, byte slices, and decoded
// values keyed by their encoding.
//
// The objects of a cluster are full of equal parts: the Pods of a Deployment have the same images,
// labels, environment and field names. A decoder looks each part up in a table and gets the value
// that an earlier object holds:
//
//	strings := intern.NewStrings(intern.Large)
//	var names intern.FieldCache
//	name := strings.Intern(raw[i:j], &names) // allocates only on a miss
//
// Tables evict. Each has an upper bound on its size, values that never recur do not evict values
// that do (see set), and a table with few entries is small. An eviction costs memory later, never
// correctness.
//
// A [HitEstimator] detects fields that are not worth a lookup, such as names, UIDs and
// resourceVersions, whose values are all different.
//
// All types are safe for concurrent use. Lookups take no lock.
package intern
