// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness compares implementations that do the same job in one process and one run.
//
// An [Experiment] describes a setup and its sides, the implementations that are compared. [Run]
// measures each side once a round and reverses their order every other round, so that a warm cache,
// a grown heap or other load on the machine affects all sides alike. Of each metric it reports the
// median over the rounds, with the minimum and the maximum. A [Goal] judges the medians.
//
// The package does not depend on what is measured.
package harness
