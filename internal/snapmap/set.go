// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"iter"
	"slices"
	"unsafe"
)

// maxSmall is the number of keys up to which a set is stored as a slice.
const maxSmall = 32

// Set is a set of keys: the posting list of an index value. It has one writer. Readers must use
// only a set that was not changed since the last Advance of its Generation. Changing such a set
// returns a new one, so the writer must keep the result of Add and Remove.
//
// Most indexes have many values of few keys, so a small set is compact: 24 bytes and its keys.
type Set struct {
	gen uint64
	// memory is the *table[struct{}, struct{}] of a big set, and the first of the keys of a small
	// one, which are unordered.
	memory unsafe.Pointer
	n      uint32 // number of keys of a small set; isBig
	room   uint32 // number of keys for which a small set has memory
}

const isBig = 1<<32 - 1

// NewSet returns an empty set of the group of g.
func NewSet(g *Generation) *Set { return &Set{gen: g.now} }

// NewSetLike returns an empty set of the group of g with room for as many keys as another set,
// which may be nil and is not changed meanwhile. See Trim.
func NewSetLike(g *Generation, other *Set) *Set {
	s := NewSet(g)
	switch {
	case other == nil:
	case other.big() != nil:
		t := new(table[struct{}, struct{}])
		t.initLike(g, other.big().root.Load(), other.Len())
		s.setBig(t)
	default:
		s.setSmall(make([]string, 0, other.Len()))
	}
	return s
}

// Trim gives up room that the set does not need.
func (s *Set) Trim() {
	switch big := s.big(); {
	case big == nil:
		s.setSmall(withRoom(s.small(), 0))
	case s.Len() <= maxSmall:
		s.shrink()
	default:
		big.rebuild()
	}
}

// big returns the table of a big set, nil if the set is small.
func (s *Set) big() *table[struct{}, struct{}] {
	if s.n != isBig {
		return nil
	}
	return (*table[struct{}, struct{}])(s.memory)
}

func (s *Set) setBig(t *table[struct{}, struct{}]) {
	s.memory, s.n, s.room = unsafe.Pointer(t), isBig, 0
}

// small returns the keys of a small set.
func (s *Set) small() []string { return unsafe.Slice((*string)(s.memory), s.room)[:s.n] }

// setSmall makes keys, of which the set then is the only owner, the keys of a small set.
func (s *Set) setSmall(keys []string) {
	s.memory, s.n, s.room = unsafe.Pointer(unsafe.SliceData(keys)), uint32(len(keys)), uint32(cap(keys))
}

// Add returns a set with key, which s must not have. The result is s itself if s is of the current
// generation; otherwise it is a new set that shares the pages of s, and s does not change.
func (s *Set) Add(g *Generation, key string) *Set {
	s = s.writable(g, 1)
	big := s.big()
	if big == nil {
		keys := s.small()
		if len(keys) < maxSmall {
			if len(keys) == cap(keys) {
				keys = withRoom(keys, 1)
			}
			s.setSmall(append(keys, key))
			return s
		}
		big = new(table[struct{}, struct{}])
		big.init(g)
		for _, k := range keys {
			big.add(k)
		}
		s.setBig(big)
	}
	big.add(key)
	return s
}

// withRoom returns a copy of the keys of a small set with room for more. A set of some size gets
// room for further keys, or each would cost a copy.
func withRoom(keys []string, more int) []string {
	n := len(keys) + more
	if more > 0 && n > 8 {
		n++
	}
	return append(make([]string, 0, n), keys...)
}

// Remove returns a set without key. The result is s itself if s lacks key or is of the current
// generation; otherwise it is a new set that shares the pages of s, and s does not change.
func (s *Set) Remove(g *Generation, key string) *Set {
	if s.big() != nil {
		if !s.Has(key) {
			return s
		}
		s = s.writable(g, 0)
		s.big().drop(key)
		if s.Len() <= maxSmall/2 {
			s.shrink()
		}
		return s
	}
	i := s.find(key)
	if i < 0 {
		return s
	}
	s = s.writable(g, 0)
	keys := s.small()
	last := len(keys) - 1
	keys[i], keys[last] = keys[last], ""
	if keys = keys[:last]; last < int(s.room)/2 {
		keys = withRoom(keys, 0)
	}
	s.setSmall(keys)
	return s
}

// find returns the position of a key in a small set, or -1. It first looks for the very string,
// which a store mostly has, and so seldom reads the bytes of other keys.
func (s *Set) find(key string) int {
	keys := s.small()
	for i, k := range keys {
		if unsafe.StringData(k) == unsafe.StringData(key) && len(k) == len(key) {
			return i
		}
	}
	return slices.Index(keys, key)
}

// writable returns s, or a copy in the current generation, with room for more keys, if s is older.
func (s *Set) writable(g *Generation, more int) *Set {
	if s.gen == g.now {
		return s
	}
	c := NewSet(g)
	if big := s.big(); big != nil {
		fork := new(table[struct{}, struct{}])
		big.forkTo(fork, g)
		c.setBig(fork)
	} else {
		c.setSmall(withRoom(s.small(), more))
	}
	return c
}

// shrink stores the keys in a slice again.
func (s *Set) shrink() { s.setSmall(slices.AppendSeq(make([]string, 0, s.Len()), s.All())) }

// Has reports whether key is in the set.
func (s *Set) Has(key string) bool {
	if big := s.big(); big != nil {
		return big.root.Load().find(key) != nil
	}
	return s.find(key) >= 0
}

// Len returns the number of keys.
func (s *Set) Len() int {
	if big := s.big(); big != nil {
		return int(big.n.Load())
	}
	return int(s.n)
}

// AnyKey returns a key of the set, which must not be empty: of a small set, the one that was added
// last or has taken its place.
func (s *Set) AnyKey() (key string) {
	if s.big() == nil {
		return s.small()[s.n-1]
	}
	for key = range s.All() {
		break
	}
	return key
}

// All yields each key once, in any order. The set must not change during the loop.
func (s *Set) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		if big := s.big(); big != nil {
			big.root.Load().all(func(p *page[struct{}, struct{}]) bool {
				return p.all(func(i int, _ uint64) bool { return yield(p.slots[i].key) })
			})
			return
		}
		for _, k := range s.small() {
			if !yield(k) {
				return
			}
		}
	}
}
