// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"sync"
	"time"
)

// bookmarks measures how often a watch receives bookmarks, in order to shorten its idle timeout.
type bookmarks struct {
	mu     sync.Mutex // guards the fields below; the watch writes, the watchdog reads
	last   time.Time
	maxGap time.Duration // between two consecutive bookmarks
}

func (b *bookmarks) record(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() {
		b.maxGap = max(b.maxGap, at.Sub(b.last))
	}
	b.last = at
}

// idleTimeout returns three times the longest gap between bookmarks, within bookmarkIdleTimeout and
// limit. It returns limit for fewer than two bookmarks.
func (b *bookmarks) idleTimeout(limit time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maxGap == 0 {
		return limit
	}
	return min(limit, max(bookmarkIdleTimeout, 3*b.maxGap))
}
