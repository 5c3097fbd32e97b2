// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import "sync/atomic"

// ways is the number of entries of a set.
const ways = 7

// set holds the entries whose tags have the same upper bits. A new entry replaces:
//
//   - the newest entry, if it has not been referenced since. Values that never recur therefore pass
//     through one slot, however many there are.
//   - otherwise the next entry not referenced since the hand last passed it (the CLOCK algorithm).
//
// tags and entries are read without a lock, one after the other, so a reader may see a tag with the
// previous or the next entry of its slot. It therefore compares the key.
type set[V any] struct {
	tags [ways]atomic.Uint32 // 0 marks a free slot
	// referenced has a bit for each entry that was found since the hand last passed it. Readers set
	// the bits.
	referenced atomic.Uint32
	entries    [ways]atomic.Pointer[entry[V]]

	newest, hand uint8 // guarded by the stripe's lock
}

// find returns the entry of a key, or nil.
func (s *set[V]) find(tag uint32, key []byte) *entry[V] {
	for i := range s.tags {
		if s.tags[i].Load() != tag {
			continue
		}
		if e := s.entries[i].Load(); e != nil && e.key == string(key) {
			s.touch(i)
			return e
		}
	}
	return nil
}

// findString is find for a string key.
func (s *set[V]) findString(tag uint32, key string) *entry[V] {
	for i := range s.tags {
		if s.tags[i].Load() != tag {
			continue
		}
		if e := s.entries[i].Load(); e != nil && e.key == key {
			s.touch(i)
			return e
		}
	}
	return nil
}

// touch marks an entry as referenced. Mostly it is marked already; then nothing is written, and the
// set stays in the cache of every processor.
func (s *set[V]) touch(i int) {
	if bit := uint32(1) << i; s.referenced.Load()&bit == 0 {
		s.referenced.Or(bit)
	}
}

// insert adds an entry and evicts the entries it has no room for. It reports whether it evicted
// any, and whether one of them was in use. The caller must hold the stripe's lock.
func (s *set[V]) insert(tag uint32, e *entry[V], maxBytes int) (evicted, evictedUsed bool) {
	i, evicted, evictedUsed := s.pickSlot()
	s.remove(i)
	for maxBytes != unlimited && s.keyBytes()+len(e.key) > maxBytes {
		s.remove(s.advanceHand())
		evicted, evictedUsed = true, true
	}
	s.entries[i].Store(e)
	s.tags[i].Store(tag)
	s.newest = uint8(i)
	return evicted, evictedUsed
}

// pickSlot returns the slot for a new entry. It reports whether the slot is taken, and whether its
// entry is in use.
func (s *set[V]) pickSlot() (i int, taken, used bool) {
	for i := range s.tags {
		if s.tags[i].Load() == 0 {
			return i, false, false
		}
	}
	if s.referenced.Load()&(1<<s.newest) == 0 {
		return int(s.newest), true, false
	}
	return s.advanceHand(), true, true
}

// advanceHand moves the hand past the next unreferenced entry and returns that entry's slot. It
// clears the referenced bits on its path.
func (s *set[V]) advanceHand() int {
	for {
		i := int(s.hand)
		s.hand = (s.hand + 1) % ways
		if bit := uint32(1) << i; s.referenced.Load()&bit != 0 {
			s.referenced.And(^bit)
			continue
		}
		return i
	}
}

// remove empties a slot.
func (s *set[V]) remove(i int) {
	s.tags[i].Store(0)
	s.entries[i].Store(nil)
	s.referenced.And(^(uint32(1) << i))
}

// keyBytes returns the total length of the keys.
func (s *set[V]) keyBytes() (n int) {
	s.each(func(_ uint32, e *entry[V]) { n += len(e.key) })
	return n
}

// each calls f for each entry.
func (s *set[V]) each(f func(tag uint32, e *entry[V])) {
	for i := range s.entries {
		if e := s.entries[i].Load(); e != nil {
			f(s.tags[i].Load(), e)
		}
	}
}
