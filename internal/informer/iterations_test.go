// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package informer

// Numbers of random rounds and repetitions. The build tag stress raises them.
const (
	modelPrograms    = 200
	concurrentRounds = 300
	stoppedHandlers  = 2_000
	boundedPods      = 2_000
)
