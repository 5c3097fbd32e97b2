// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package pack

// Numbers of random rounds and repetitions. The build tag stress raises them.
const (
	modelRounds      = 25
	churnRounds      = 10
	concurrentRounds = 2
	randomInputs     = 5_000
)
