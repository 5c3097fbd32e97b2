// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rows holds the benchmarks, each named after its row in the table. A file holds one row or
// a few that share a setup; the table's order is in [All].
//
// All sides of an experiment use the same objects, which are made once.
package rows
