// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package intern

// Numbers of random rounds and repetitions under the build tag stress.
const (
	distinctStrings  = 10_000_000
	distinctPerValue = 100
	twinStrings      = 500_000
	twinTables       = Large
	limitRounds      = 200_000
	smallTableRounds = 100_000
	jsonDocuments    = 20_000
	concurrentRounds = 20_000
)
