package pack

import (
	"slices"
	"sync"
	"sync/atomic"
)

// training makes dictionaries of the first objects that come: a small one of the
// first object, so that a small collection has something, and better ones as there
// is more to make them of. What has been packed against an older one keeps it.
type training struct {
	current atomic.Pointer[source] // nil before the first
	done    atomic.Bool

	mu     sync.Mutex // guards sample
	sample []byte
}

const (
	firstDictionary = 4 << 10
	maxDictionary   = 64 << 10 // addresses have two bytes
	growth          = 4        // how many times larger each dictionary is
	maxShare        = 16 << 10 // how much of one object is part of the sample
	// What a dictionary packs to less than this share of its size has nothing new.
	novelty = 16
)

// add makes an object part of the sample, if it is new enough: packed is what it
// was packed to.
func (t *training) add(raw []byte, packed int, desk *desk) {
	if t.done.Load() || packed < len(raw)/novelty {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.sample)
	room := min(len(raw), maxShare, maxDictionary-before)
	t.sample = append(t.sample, raw[:room]...)
	if !due(before, len(t.sample)) {
		return
	}
	text := slices.Clone(t.sample)
	t.current.Store(&source{dictionary: &dictionary{text: text, index: newIndex(text)}, desk: desk})
	if len(t.sample) == maxDictionary {
		t.done.Store(true)
		t.sample = nil
	}
}

// due tells whether the sample has grown to the size of another dictionary.
func due(before, now int) bool {
	for size := firstDictionary; size <= maxDictionary; size *= growth {
		if before < size && now >= size {
			return true
		}
	}
	return false
}
