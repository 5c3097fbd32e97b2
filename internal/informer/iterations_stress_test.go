// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package informer

const (
	modelPrograms    = 2_000
	concurrentRounds = 3_000
	stoppedHandlers  = 10_000
	boundedPods      = 10_000
)
