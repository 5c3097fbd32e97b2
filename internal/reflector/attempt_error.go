// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import "github.com/kinformer/kinformer/internal/feed"

// Op is the operation that an AttemptError is about.
type Op string

// The operations of a reflector.
const (
	// OpList is a list: a request failed, or the list cannot be committed to the sink.
	OpList Op = "list"
	// OpWatchList is a WatchList (KEP-3157) that did not deliver the whole initial state.
	OpWatchList Op = "watch-list"
	// OpWatchOpen is a watch that the server did not accept.
	OpWatchOpen Op = "open watch"
	// OpWatch is an open watch that ended with an error, either an ERROR event, a broken connection
	// or an event that the reflector does not apply.
	OpWatch Op = "watch"
	// OpRelist is a relist after a watch that the server closed without an error. Err is the reason
	// why the watch is not resumed.
	OpRelist Op = "relist"
)

// AttemptError is a failed attempt to list or watch.
type AttemptError struct {
	Op  Op
	Err error
}

// Error returns the text of the cause after "list: " or "watch: ". OpWatchList and OpRelist have no
// prefix. The URL of a request follows the cause.
func (e *AttemptError) Error() string {
	text := feed.CauseFirst(e.Err).Error()
	switch e.Op {
	case OpList:
		return "list: " + text
	case OpWatchOpen, OpWatch:
		return "watch: " + text
	default:
		return text
	}
}

// Unwrap returns the cause.
func (e *AttemptError) Unwrap() error { return e.Err }
