// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
)

// ErrNotStored is wrapped by the errors of KeyError and QuarantinedKeys.
var ErrNotStored = errors.New("the object's newest state could not be stored")

// quarantine is the set of keys whose newest state could not be decoded, transformed, filtered or
// keyed, or whose entry could not be read. A key stays until a later state is stored or ignored,
// the object is deleted, a list has a state that can be stored or lacks the object, or its scope is
// removed. The last good entry stays meanwhile, over a list, too, unless it has another UID and
// transforms rename nothing. The reflector lists the objects again when its watch ends, then less
// and less often. The set is nearly always empty, and its methods take no lock then.
type quarantine struct {
	size atomic.Int64 // of scopes

	mu     sync.Mutex         // guards the fields below
	keys   map[string]failure // by key
	scopes map[*Scope]failureCount
}

// failureCount is what the quarantine has of one scope. It is not zero.
type failureCount struct {
	keys    int
	unnamed int // states without a readable key, in the last list and since
}

// failure is why a key is quarantined.
type failure struct {
	version    string // of the state that could not be stored; if it had none, of the failure before
	uid        uint64 // of the object whose state could not be stored, as in identity
	unreadable bool   // the stored state could not be read, and no later one failed to be stored
	scope      *Scope // that the state came from; nil if the store has the whole collection
	err        error
}

// KeyFailure is a quarantined key and the cause.
type KeyFailure struct {
	Key string
	Err error // wraps ErrNotStored
}

func (f failure) wrapped() error { return fmt.Errorf("%w: %w", ErrNotStored, f.err) }

// identity returns the identity of the state that could not be stored.
func (f failure) identity() identity {
	id := identityOf("", f.version)
	id.uid = f.uid
	return id
}

// skipped reports whether the state is to be ignored. Such a failure is never in the quarantine.
func (f failure) skipped() bool { return errors.Is(f.err, feed.ErrSkip) }

func (q *quarantine) isEmpty() bool { return q.size.Load() == 0 }

// counts returns the number of keys, and of unnamed states, of a scope.
func (q *quarantine) counts(c *Scope) (keys, unnamed int) {
	if q.isEmpty() {
		return 0, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.scopes[c]
	return n.keys, n.unnamed
}

// total returns the number of all keys, and of all unnamed states.
func (q *quarantine) total() (keys, unnamed int) {
	if q.isEmpty() {
		return 0, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range q.scopes {
		unnamed += n.unnamed
	}
	return len(q.keys), unnamed
}

// count adds to the counts of a scope. The caller holds mu.
func (q *quarantine) count(c *Scope, keys, unnamed int) {
	if q.scopes == nil {
		q.scopes = make(map[*Scope]failureCount)
	}
	n := q.scopes[c]
	n.keys += keys
	n.unnamed += unnamed
	if q.scopes[c] = n; n == (failureCount{}) {
		delete(q.scopes, c)
	}
	q.size.Store(int64(len(q.scopes)))
}

// releaseScopes releases the keys and the unnamed states of the scopes that of accepts.
func (q *quarantine) releaseScopes(of func(*Scope) bool) {
	if q.isEmpty() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := 0
	for c, n := range q.scopes {
		if of(c) {
			keys += n.keys
			q.count(c, 0, -n.unnamed)
		}
	}
	if keys == 0 {
		return
	}
	for key, f := range q.keys {
		if of(f.scope) {
			q.drop(key)
		}
	}
}

// drop releases a key. The caller holds mu.
func (q *quarantine) drop(key string) {
	if f, known := q.keys[key]; known {
		delete(q.keys, key)
		q.count(f.scope, -1, 0)
	}
}

// failed reports whether key is quarantined, and returns why.
func (q *quarantine) failed(key string) (f failure, ok bool) {
	if q.isEmpty() {
		return failure{}, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f, ok = q.keys[key]
	return f, ok
}

// add adds a key, and reports whether it is new. An empty key is counted instead. A stored state
// that cannot be read does not replace the failure of a later state that could not be stored.
func (q *quarantine) add(key string, f failure) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if key == "" {
		q.count(f.scope, 0, 1)
		return true
	}
	if q.keys == nil {
		q.keys = make(map[string]failure)
	}
	last, known := q.keys[key]
	if !known || !f.unreadable {
		f.version = cmp.Or(f.version, last.version)
		q.count(f.scope, 1, 0) // before drop: readers must not find the quarantine empty in between
		q.drop(key)
		q.keys[key] = f
	}
	return !known
}

func (q *quarantine) release(key string) {
	if q.isEmpty() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(key)
}

// setUnnamed sets the number of a scope's states without a readable key.
func (q *quarantine) setUnnamed(c *Scope, n int) {
	if n == 0 && q.isEmpty() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(c, 0, n-q.scopes[c].unnamed)
}

// failures returns the keys and why each is quarantined.
func (q *quarantine) failures() map[string]failure {
	if q.isEmpty() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.keys)
}
