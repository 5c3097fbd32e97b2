// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package snapmap

const (
	modelRounds      = 1_000
	churnRounds      = 2_000_000
	shrinkKeys       = 200_000
	unevenKeys       = 100_000
	growthKeys       = 200_000
	memoryKeys       = 200_000
	concurrentRounds = 500_000
	viewRounds       = 3_000
)
