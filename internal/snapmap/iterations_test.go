// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package snapmap

// Sizes and numbers of random rounds. The build tag stress raises them.
const (
	modelRounds      = 10
	churnRounds      = 30_000
	shrinkKeys       = 10_000
	unevenKeys       = 20_000
	growthKeys       = 30_000
	memoryKeys       = 10_000
	concurrentRounds = 10_000
	viewRounds       = 30
)
