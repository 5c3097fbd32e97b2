// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import "sync/atomic"

// broadcast wakes all goroutines that wait for a change. Changes that follow each other before a
// goroutine waits again wake it once. The zero broadcast is ready.
type broadcast struct {
	next atomic.Pointer[chan struct{}] // closed by signal; nil if no goroutine waits
}

// wait returns a channel that the next signal closes. A goroutine that calls wait before it reads a
// state misses no change of it.
func (b *broadcast) wait() <-chan struct{} {
	for {
		if next := b.next.Load(); next != nil {
			return *next
		}
		made := make(chan struct{})
		b.next.CompareAndSwap(nil, &made)
	}
}

// signal is called after a change. It does not block, and takes no lock.
func (b *broadcast) signal() {
	if b.next.Load() == nil {
		return
	}
	if next := b.next.Swap(nil); next != nil {
		close(*next)
	}
}
