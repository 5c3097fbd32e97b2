// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package faults_test

import "time"

// changeRates are how often an object changes in the table of what the overlap costs, and for how
// many hours.
var changeRates = []changeRate{{30 * time.Second, 6}, {10 * time.Minute, 12}, {2 * time.Hour, 24}}

// sampled reports whether to test the pairs of a response and an informer whose positions have this
// sum: every third one, so that each response is tested with a third of the informers.
func sampled(positions int) bool { return positions%3 == 0 }
