// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package scoped runs the reflectors of an informer that has scopes: the parts of its collection
// that may be added and removed while it runs.
//
//	scope.Set ── Change ──▶ Loop: one goroutine starts, joins and ends streams
//	                          │
//	          ┌───────────────┼─────────────────┐
//	          ▼               ▼                 ▼
//	    stream: source ─▶ reflector ─▶ store.Feed ─┐   the others
//	                                               ▼    │
//	                                          store ◀───┘
//
// A stream is a reflector of one scope, or of several that differ only in their ranges of hashes:
// up to 16 ranges, of which adjacent ones count as one (chunks, in join.go). Its source restricts
// each request to its scopes (scope.WithRequest). Streams whose scopes have been listed are joined:
// one more stream watches all of their ranges from the lowest version. Its states, of which a
// stream that starts with a list has the second alone:
//
//	joining   the streams before feed the scopes. An error ends the joining one alone
//	owning    its feed has the scopes (store.Feed.Take). A joining stream becomes owning with its first
//	          event, bookmark or list, or once its watch was open for 10 s. The Loop then ends the
//	          streams before, and passes on what their histories remember
//	failed    it ends. Its group is not joined for 30 s, and up to 30 min if that fails again. After
//	          a 410, a scope is not joined again from the same version
//
// A group, the scopes that differ only in their ranges, is joined at most once in 10 s. Until then
// a stream drops what it receives of a range that was removed.
//
// A scope that leaves the set has one of two states; see scope.State:
//
//	Removed    removed at once; its objects are deleted with LeftScope
//	Emptying   removed once it is empty or refused; its objects are deleted without LeftScope
//
// The Loop also says what an absent key means: that no scope may hold it, that one which may hold
// it has not been listed, or that the object does not exist. GetByKey of package cache reports
// false for all three. The methods that return an error wrap ErrNoScope for the first two, and the
// text says which. Which scopes have been listed, they take from the store (Store.Listing), which
// changes it in one step with the entries and the log: the Loop learns of a list later than a
// handler of its events. Hashes of UIDs do not show in a key: unless the ranges cover all hashes,
// an absent key is ErrNoScope, except if the store has seen its deletion within the last hour.
//
// The goroutine of Run owns the streams and the states of scopes. Loop.mu guards what other
// goroutines read of them, and is held for O(scopes). Under it, only the version of the store and
// the status of reflectors are read.
package scoped
