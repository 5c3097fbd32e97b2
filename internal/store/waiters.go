// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// waiters holds the callers that wait until the store, or a scope of it, reaches a resourceVersion.
// Its lock may be taken under the store's, and takes no other.
type waiters struct {
	n atomic.Int32 // number of waiting callers, so that a change without them costs no lock

	mu     sync.Mutex // guards sorted
	sorted []*waiter  // by version
}

// waiter waits for one resourceVersion. reached is closed once that is reached.
type waiter struct {
	version string
	reached chan struct{}
}

// AnyVersion is a version that every event, bookmark, list, scope and call of Notify reaches.
const AnyVersion = ""

// Await returns a channel that is closed once the store, or a scope of it if c is not nil, has reached
// a version, which must be valid or AnyVersion. The caller must call cancel in any case.
func (s *Store[V]) Await(c *Scope, version string) (reached <-chan struct{}, cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, now := &s.waiters, s.live.Load().version
	if c != nil {
		of, now = &c.waiters, c.reached()
	}
	w := of.add(version)
	if version != AnyVersion && !isBefore(now, version) {
		of.wake(now)
	}
	if c == nil {
		return w.reached, func() { of.remove(w) }
	}
	s.scopeWaiters.Add(1)
	return w.reached, func() {
		of.remove(w)
		s.scopeWaiters.Add(-1)
	}
}

// Notify wakes the callers that wait for AnyVersion: something else has changed of which they read.
func (s *Store[V]) Notify() {
	if s.waiters.n.Load() > 0 {
		s.waiters.wake(s.ResourceVersion())
	}
}

// notify wakes the callers whose version is reached. The caller holds mu.
func (s *Store[V]) notify() {
	if s.waiters.n.Load() > 0 {
		s.waiters.wake(s.live.Load().version)
	}
	if s.scopeWaiters.Load() == 0 {
		return
	}
	for _, c := range s.scopes.held {
		if c.waiters.n.Load() > 0 {
			c.waiters.wake(c.reached())
		}
	}
}

func (v *waiters) wake(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for n < len(v.sorted) && !isBefore(version, v.sorted[n].version) {
		close(v.sorted[n].reached)
		n++
	}
	v.sorted = slices.Delete(v.sorted, 0, n)
}

func (v *waiters) add(version string) *waiter {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := &waiter{version, make(chan struct{})}
	i, _ := slices.BinarySearchFunc(v.sorted, w, func(a, b *waiter) int {
		if isBefore(a.version, b.version) {
			return -1
		}
		return 1
	})
	v.sorted = slices.Insert(v.sorted, i, w)
	v.n.Add(1)
	return w
}

func (v *waiters) remove(w *waiter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n.Add(-1)
	if i := slices.Index(v.sorted, w); i >= 0 {
		v.sorted = slices.Delete(v.sorted, i, i+1)
	}
}

// isBefore reports whether version is older than other, which must be valid or AnyVersion. A version
// that is empty or cannot be compared is older.
func isBefore(version, other string) bool {
	if other == AnyVersion {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order < 0
}
