// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"

	"github.com/kinformer/kinformer/internal/feed"
)

// state is the reflector's place in its cycle: which request is next, and how far the
// resourceVersion reached can be relied on. Only the reflector's goroutine uses it.
type state int

const (
	// stateCold: no list has been committed. The reflector lists not older than Config.Start, or
	// else at resourceVersion "0" ("Any" in the API concepts), which the API server answers from
	// its watch cache however old that is.
	stateCold state = iota
	// stateListed: a list has been committed. The reflector watches from its resourceVersion.
	stateListed
	// stateResuming: a watch has ended and another continues from the resourceVersion reached.
	stateResuming
	// stateRelisting: the watch cannot be resumed. The reflector lists at the resourceVersion
	// reached ("Not older than"), in pages with resourceVersionMatch.
	stateRelisting
	// stateConsistentRead: the server does not have the resourceVersion reached, or has regressed
	// behind it. The reflector lists without a resourceVersion ("Most Recent").
	stateConsistentRead
)

// relist enters next, which is stateRelisting or stateConsistentRead, and returns reason as an
// error of OpRelist.
func (r *Reflector) relist(next state, reason error) error {
	r.state = next
	return &AttemptError{Op: OpRelist, Err: reason}
}

// listVersion returns the resourceVersion of the next list. A collection without a resourceVersion,
// as of client-go's fake clientsets, is always listed as in stateCold. After a continue token has
// expired, the most recent state is listed, whose pages the server has for the longest time.
func (r *Reflector) listVersion() string {
	if r.state == stateConsistentRead || r.lists.expiredTokens == 1 || r.start.mostRecent && r.lists.committedAt.IsZero() {
		return ""
	}
	version := cmp.Or(r.version(), r.start.version)
	if bound := r.config.NotOlderThan(); version == "" || feed.IsOlder(version, bound) {
		version = bound
	}
	return cmp.Or(version, "0")
}

// canResume reports whether a watch at the resourceVersion reached delivers every change since. A
// watch at "" or "0" starts with synthetic ADDED events and omits earlier deletions.
func (r *Reflector) canResume() bool {
	version := r.version()
	return version != "" && version != "0"
}
