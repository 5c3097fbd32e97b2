// Package harness compares two or more sides that do the same job, in one
// process, in one run.
//
// An [Experiment] is one situation. [Run] puts it to each side in turn, round
// after round; the order is reversed every other round, so that what a side
// leaves behind (a warm cache, a grown heap, a machine that others have begun to
// use) falls on all alike. Of each figure the median over the rounds counts, and
// the least and the greatest are shown. A [Goal] judges the medians.
//
// Nothing here knows what is measured.
package harness
