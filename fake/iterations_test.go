// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !stress

package fake_test

import "time"

// Sizes of the concurrent tests. The build tag stress raises them.
const (
	orderWatchers = 10
	orderWrites   = 25 // per writer

	loadDuration = time.Second
	loadWatchers = 50
	loadHistory  = 200 // changes that a watcher may fall behind
)
