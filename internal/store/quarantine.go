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

// quarantine is the set of keys whose newest state could not be stored or read. It is nearly always
// empty, and its methods take no lock then.
type quarantine struct {
	size atomic.Int64 // of both maps

	mu      sync.Mutex         // guards the fields below
	keys    map[string]failure // by key
	unnamed map[*Scope]int     // number of states without a readable key, in the last list and since
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

// skipped reports whether the state is to be ignored. Such a failure is never in the quarantine.
func (f failure) skipped() bool { return errors.Is(f.err, feed.ErrSkip) }

func (q *quarantine) isEmpty() bool { return q.size.Load() == 0 }

// counts returns the number of keys, and of unnamed states, of the scopes that of accepts.
func (q *quarantine) counts(of func(*Scope) bool) (keys, unnamed int) {
	if q.isEmpty() {
		return 0, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.keys {
		if of(f.scope) {
			keys++
		}
	}
	for scope, n := range q.unnamed {
		if of(scope) {
			unnamed += n
		}
	}
	return keys, unnamed
}

// releaseScopes releases the keys and the unnamed states of the scopes that of accepts.
func (q *quarantine) releaseScopes(of func(*Scope) bool) {
	if q.isEmpty() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.keys, func(_ string, f failure) bool { return of(f.scope) })
	maps.DeleteFunc(q.unnamed, func(c *Scope, _ int) bool { return of(c) })
	q.updateSize()
}

// anyScope accepts every scope, and that of a whole collection.
func anyScope(*Scope) bool { return true }

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
	defer q.updateSize()
	if key == "" {
		q.countUnnamed(f.scope, q.unnamed[f.scope]+1)
		return true
	}
	if q.keys == nil {
		q.keys = make(map[string]failure)
	}
	last, known := q.keys[key]
	if !known || !f.unreadable {
		f.version = cmp.Or(f.version, last.version)
		q.keys[key] = f
	}
	return !known
}

// updateSize sets size. The caller holds mu.
func (q *quarantine) updateSize() { q.size.Store(int64(len(q.keys) + len(q.unnamed))) }

// countUnnamed sets the number of a scope's states without a readable key. The caller holds mu.
func (q *quarantine) countUnnamed(scope *Scope, n int) {
	if q.unnamed == nil {
		q.unnamed = make(map[*Scope]int)
	}
	if q.unnamed[scope] = n; n == 0 {
		delete(q.unnamed, scope)
	}
}

func (q *quarantine) release(key string) {
	if q.isEmpty() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.keys, key)
	q.updateSize()
}

// setUnnamed sets the number of a scope's states without a readable key.
func (q *quarantine) setUnnamed(scope *Scope, n int) {
	if n == 0 && q.isEmpty() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.countUnnamed(scope, n)
	q.updateSize()
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
