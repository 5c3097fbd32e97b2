// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build stress

package fake_test

import "time"

const (
	orderWatchers = 20
	orderWrites   = 500

	loadDuration = time.Minute
	loadWatchers = 1000
	loadHistory  = 500 // changes that a watcher may fall behind
)
