// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package pack

const (
	modelRounds      = 1_000
	churnRounds      = 1_000
	concurrentRounds = 50
	randomInputs     = 1_000_000
)
