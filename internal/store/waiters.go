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

// wakeAll wakes all callers. They must check what they waited for.
func (v *waiters) wakeAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range v.sorted {
		close(w.reached)
	}
	v.sorted = nil
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

// isBefore reports whether version is older than other, which must be valid or AnyVersion. A
// version that is empty or cannot be compared is older.
func isBefore(version, other string) bool {
	if other == AnyVersion {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order < 0
}
