// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"iter"
	"slices"
)

// maxSmall is the number of keys up to which a set is stored as a slice.
const maxSmall = 16

// Set is a set of keys: the posting list of an index value. It has one writer. Readers must use
// only a set that was not changed since the last Advance of its Generation. Changing such a set
// returns a new one, so the writer must keep the result of Add and Remove.
//
// Many indexes have one key per value, so the first key is stored inline: such a set is a single
// allocation of 64 bytes.
type Set struct {
	gen  uint64
	big  *table[struct{}, struct{}] // nil if the set is small
	keys []string                   // the keys of a small set, unordered
	one  [1]string
}

// NewSet returns an empty set of the group of g.
func NewSet(g *Generation) *Set {
	s := &Set{gen: g.now}
	s.keys = s.one[:0]
	return s
}

// Add returns a set with key. The result is s itself if s has key or is of the current generation;
// otherwise it is a new set that shares the pages of s, and s does not change.
func (s *Set) Add(g *Generation, key string) *Set {
	if s.Has(key) {
		return s
	}
	s = s.writable(g)
	if s.big == nil && len(s.keys) < maxSmall {
		s.keys = append(s.keys, key)
		return s
	}
	if s.big == nil {
		s.big = new(table[struct{}, struct{}])
		s.big.init(g)
		for _, k := range s.keys {
			s.big.add(k)
		}
		s.keys, s.one = nil, [1]string{}
	}
	s.big.add(key)
	return s
}

// Remove returns a set without key. The result is s itself if s lacks key or is of the current
// generation; otherwise it is a new set that shares the pages of s, and s does not change.
func (s *Set) Remove(g *Generation, key string) *Set {
	if !s.Has(key) {
		return s
	}
	s = s.writable(g)
	if s.big != nil {
		s.big.drop(key)
		if s.Len() <= maxSmall/2 {
			s.shrink()
		}
		return s
	}
	last := len(s.keys) - 1
	for i, k := range s.keys {
		if k == key {
			s.keys[i] = s.keys[last]
		}
	}
	s.keys[last] = ""
	s.keys = s.keys[:last]
	return s
}

// writable returns s, or a copy in the current generation if s is older.
func (s *Set) writable(g *Generation) *Set {
	if s.gen == g.now {
		return s
	}
	c := NewSet(g)
	if s.big != nil {
		c.big = new(table[struct{}, struct{}])
		s.big.forkTo(c.big, g)
	}
	c.keys = append(c.keys, s.keys...)
	return c
}

// shrink stores the keys in a slice again.
func (s *Set) shrink() {
	keys := s.one[:0]
	for k := range s.All() {
		keys = append(keys, k)
	}
	s.big, s.keys = nil, keys
}

// Has reports whether key is in the set.
func (s *Set) Has(key string) bool {
	if s.big != nil {
		return s.big.root.Load().find(key) != nil
	}
	return slices.Contains(s.keys, key)
}

// Len returns the number of keys.
func (s *Set) Len() int {
	if s.big != nil {
		return int(s.big.n.Load())
	}
	return len(s.keys)
}

// All yields each key once, in any order. The set must not change during the loop.
func (s *Set) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		if s.big != nil {
			s.big.root.Load().all(func(p *page[struct{}, struct{}]) bool {
				return p.all(func(i int, _ uint64) bool { return yield(p.slots[i].key) })
			})
			return
		}
		for _, k := range s.keys {
			if !yield(k) {
				return
			}
		}
	}
}
