// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness compares implementations that do the same job in one process and one run.
//
// An [Experiment] describes a setup and its sides, the implementations that are compared. [Run]
// measures each side once a round and reverses their order every other round, so that a warm cache,
// a grown heap or other load on the machine affects all sides alike.
//
// Other load only makes a figure worse, so the figure of a side is its best round: the minimum, or
// the maximum of a rate. A [Goal] judges these figures. The spread of a side, its maximum divided
// by its minimum, shows how far they can be trusted.
//
// [WriteCSV] writes all figures, and [Summary] the ratios, spreads and missed goals in Markdown.
//
// The package does not depend on what is measured.
package harness
