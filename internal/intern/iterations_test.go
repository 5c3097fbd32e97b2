// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package intern

// Numbers of random rounds and repetitions. The build tag stress raises them.
const (
	distinctStrings  = 60_000
	distinctPerValue = 5
	twinStrings      = 24_000
	twinTables       = Small
	limitRounds      = 4_000
	smallTableRounds = 8_000
	jsonDocuments    = 5_000
	concurrentRounds = 500
)
