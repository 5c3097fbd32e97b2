// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package store

// The iterations of the long tests in a stress run.
const (
	modelRounds   = 1000
	raceKeys      = 200
	raceRounds    = 100
	cursorChanges = 50_000
	momentChanges = 1_000_000 // changes of TestSnapshotAndCursorAreOfOneMoment
	orderChanges  = 200_000   // changes of TestStoreHasChangeBeforeLog
	syncedStores  = 100_000   // stores of TestStoreIsFilledBeforeItIsSynced
	shareRounds   = 500
)
