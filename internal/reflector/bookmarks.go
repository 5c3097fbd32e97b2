package reflector

import (
	"sync"
	"time"
)

// bookmarks learns whether a watch gets bookmarks often enough that their
// absence means something.
type bookmarks struct {
	mu   sync.Mutex // guards the rest: the reflector writes, the watchdog reads
	last time.Time
	gap  time.Duration // the longest between two of them
}

func (b *bookmarks) came(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() {
		b.gap = max(b.gap, at.Sub(b.last))
	}
	b.last = at
}

// silence returns for how long a watch may be silent that is allowed to be so
// for most at the utmost.
func (b *bookmarks) silence(most time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gap == 0 {
		return most
	}
	return min(most, max(bookmarkSilence, 3*b.gap))
}
