// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// ListBuffered and WatchBuffered take the initial size of the buffer. With a few bytes, every
// object crosses its end.
var (
	ListBuffered  = splitList
	WatchBuffered = splitWatch
)

// MaxDepth is the maximum nesting depth of JSON.
const MaxDepth = maxDepth
