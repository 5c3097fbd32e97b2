// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"slices"
	"sync"
	"sync/atomic"
)

// trainer builds dictionaries from the first objects of a collection: a small one early, so that
// small collections benefit, and larger ones as the sample grows. Objects packed against an earlier
// dictionary keep it.
type trainer struct {
	current atomic.Pointer[source] // nil before the first dictionary
	done    atomic.Bool

	mu     sync.Mutex // guards sample
	sample []byte
}

const (
	minDictionary    = 4 << 10
	maxDictionary    = 64 << 10 // offsets have two bytes
	dictionaryGrowth = 4        // size ratio of successive dictionaries
	maxSample        = 16 << 10 // bytes of one object that are sampled
	// minNovelty is the share of its size, as a divisor, that an object must take when packed to be
	// sampled: a smaller one adds nothing new.
	minNovelty = 16
)

// add samples an object that packs to the given size, if it adds something new.
func (t *trainer) add(raw []byte, packed int, pool *workspacePool) {
	if t.done.Load() || packed < len(raw)/minNovelty {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.sample)
	n := min(len(raw), maxSample, maxDictionary-before)
	t.sample = append(t.sample, raw[:n]...)
	if !due(before, len(t.sample)) {
		return
	}
	t.current.Store(&source{dictionary: slices.Clone(t.sample), pool: pool})
	if len(t.sample) == maxDictionary {
		t.done.Store(true)
		t.sample = nil
	}
}

// due reports whether the sample grew past the size of the next dictionary.
func due(before, now int) bool {
	for size := minDictionary; size <= maxDictionary; size *= dictionaryGrowth {
		if before < size && now >= size {
			return true
		}
	}
	return false
}
