// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"sync"
	"sync/atomic"
	"weak"
)

const (
	hotShare    = 100     // the hot set takes one hotShare-th of the packed bytes
	minHotBytes = 1 << 20 // at least
	// minHotSize is the least size that an object counts with, which bounds the number of objects.
	minHotSize = 1 << 10
)

// hotSet keeps decoded objects of a store that packs, for the reads that are likely to follow: that
// of an object after its event, and that of the old state for the next event. Events and reads by
// key fill it; lists and snapshots do not.
//
// The objects are evicted by second chance: first in, first out, but one that was read by key or
// for an event since it came to the front goes to the back instead, once. An object whose entry has
// left the store is of use only to handlers that have yet to receive the change. It is evicted
// before all others, and is kept only as long as something references its entry: a handler's part
// of the log, or a snapshot. What is decoded later than that is not added.
//
// A read of a kept object takes no lock, and a write never waits for one.
type hotSet struct {
	left  atomic.Pointer[decoded] // stack of the objects whose entries have left the store since the last shrink
	bytes atomic.Int64            // of all kept objects; written under mu

	mu      sync.Mutex // guards the fields below; held for O(1) per object added or left
	current list.List  // of *decoded, those whose entries are in the store, the next to evict first
	past    list.List  // of pastObject, the next to evict first
	closed  bool
}

// hotState is what the hot set records of a decoded object.
type hotState struct {
	used     atomic.Bool   // read since it was added, or came to the front of hotSet.current
	departed atomic.Bool   // its entry has left the store
	packed   *packed       // whose object it is
	size     int64         // in bytes
	place    *list.Element // in hotSet.current, or nil; guarded by hotSet.mu
	next     *decoded      // in hotSet.left
}

// pastObject is a kept object whose entry has left the store. The entry refers to the object, not
// the hot set.
type pastObject struct {
	object weak.Pointer[decoded]
	size   int64
}

// use records that the object was read. It writes only once, as many readers share the object.
func (h *hotState) use() {
	if !h.used.Load() {
		h.used.Store(true)
	}
}

// keepHot adds a decoded object to the hot set, and reports whether it did. It does not if the
// object is too large, or its entry has left the store already.
func (s *Store[V]) keepHot(key string, d *decoded, ref *valueRef, size int) bool {
	limit := s.hotLimit()
	d.size = max(int64(size), minHotSize)
	inStore := func() bool { return s.entries.Get(key) == d.packed.ref() }
	if !inStore() || !s.hot.add(d, ref, limit) {
		return false
	}
	if !inStore() { // replaced meanwhile; if later, by a writer that sees that the object is kept
		s.hot.leave(d)
	}
	s.hot.settle(limit)
	return true
}

// hotLimit returns how many bytes of decoded objects the store keeps.
func (s *Store[V]) hotLimit() int64 {
	if s.config.HotBytes != 0 {
		return max(s.config.HotBytes, 0)
	}
	return max(s.live.Load().packedBytes.Load()/hotShare, minHotBytes)
}

// countPacked updates the packed bytes of a state after a change.
func (s *Store[V]) countPacked(state *state[V], old, entry *Entry[V]) {
	if s.config.Packer != nil {
		state.packedBytes.Add(entry.packedSize() - old.packedSize())
	}
}

// packedSize returns the size of the packed object of an entry, zero if it is nil. The store must
// pack.
func (e *Entry[V]) packedSize() int64 {
	if e == nil {
		return 0
	}
	return int64(packedOf(e.ref).object.Size())
}

// leaveHot records that an entry, which may be nil, has left the store.
func (s *Store[V]) leaveHot(entry *Entry[V]) {
	if s.config.Packer == nil || entry == nil {
		return
	}
	if d := packedOf(entry.ref).live.Load(); d != nil {
		s.hot.leave(d)
	}
}

// settleHot applies the limit and what has left the store to the hot set, after a write.
func (s *Store[V]) settleHot() {
	if s.config.Packer != nil {
		s.hot.settle(s.hotLimit())
	}
}

// PackedSize returns the bytes of the packed objects in the store, and the bytes and number of the
// decoded objects that it keeps.
func (s *Store[V]) PackedSize() (packed, hot int64, hotObjects int) {
	hotObjects, hot = s.hot.size()
	return s.live.Load().packedBytes.Load(), hot, hotObjects
}

// ReleaseHot makes the store keep no decoded objects from now on.
func (s *Store[V]) ReleaseHot() { s.hot.close() }

// add keeps an object, and evicts others beyond limit. It does nothing and returns false if the
// object alone is larger.
func (h *hotSet) add(d *decoded, ref *valueRef, limit int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || d.size > limit {
		return false
	}
	d.kept.Store(ref)
	h.bytes.Add(d.size)
	d.place = h.current.PushBack(d)
	h.shrink(limit)
	return true
}

// leave records that the object's entry has left the store. It takes no lock.
func (h *hotSet) leave(d *decoded) {
	if d.kept.Load() == nil || !d.departed.CompareAndSwap(false, true) {
		return
	}
	for {
		d.next = h.left.Load()
		if h.left.CompareAndSwap(d.next, d) {
			return
		}
	}
}

// settle applies limit and what has left the store. If another goroutine holds the lock, that one
// does it.
func (h *hotSet) settle(limit int64) {
	for (h.left.Load() != nil || h.bytes.Load() > limit) && h.mu.TryLock() {
		h.shrink(limit)
		h.mu.Unlock()
	}
}

// shrink moves the objects that have left the store, and evicts objects until the others take limit
// at most. The caller holds mu.
func (h *hotSet) shrink(limit int64) {
	for d := h.left.Swap(nil); d != nil; {
		next := d.next
		d.next = nil
		if d.place != nil { // not evicted meanwhile
			h.current.Remove(d.place)
			d.place = nil
			h.past.PushBack(pastObject{weak.Make(d), d.size})
		}
		d = next
	}
	h.dropUnreferenced()
	for h.bytes.Load() > limit {
		h.evict()
	}
}

// dropUnreferenced drops the first past objects, whose entries nothing references any more. The
// caller holds mu.
func (h *hotSet) dropUnreferenced() {
	for first := h.past.Front(); first != nil && first.Value.(pastObject).object.Value() == nil; first = h.past.Front() {
		h.evictPast(first)
	}
}

// evict evicts one object. The caller holds mu.
func (h *hotSet) evict() {
	if first := h.past.Front(); first != nil {
		h.evictPast(first)
		return
	}
	for range h.current.Len() {
		first := h.current.Front()
		if !first.Value.(*decoded).used.Swap(false) {
			break
		}
		h.current.MoveToBack(first)
	}
	d := h.current.Remove(h.current.Front()).(*decoded)
	d.place = nil
	h.bytes.Add(-d.size)
	d.clearWhenUnreferenced(d.kept.Swap(nil))
}

func (h *hotSet) evictPast(at *list.Element) {
	past := h.past.Remove(at).(pastObject)
	h.bytes.Add(-past.size)
	if d := past.object.Value(); d != nil {
		d.kept.Store(nil)
	}
}

// close evicts all objects, and keeps none from now on.
func (h *hotSet) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.shrink(0)
}

// size returns the number of kept objects, and their bytes.
func (h *hotSet) size() (objects int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shrink(h.bytes.Load())
	return h.current.Len() + h.past.Len(), h.bytes.Load()
}
