// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package store

// The iterations of the long tests, kept short for every run. Build with -tags stress for many
// more.
const (
	modelRounds   = 30     // random sequences of TestStoreMatchesModel and TestScopesMatchTheServer
	raceKeys      = 60     // keys of the tests with concurrent readers
	raceRounds    = 20     // rounds of writes in these tests; at least 20, so that each kind of write occurs
	cursorChanges = 2000   // changes of TestNoChangeIsMissedBetweenSnapshotAndCursor
	momentChanges = 20_000 // changes of TestSnapshotAndCursorAreOfOneMoment
	orderChanges  = 10_000 // changes of TestStoreHasChangeBeforeLog
	syncedStores  = 20_000 // stores of TestStoreIsFilledBeforeItIsSynced
	shareRounds   = 10     // rounds of TestConcurrentReadersShareOneDecodedObject
)
