// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"hash/maphash"
	"sync"
	"weak"
)

// baseTable holds the newest base of each owner through weak pointers. Owners are identified by a
// hash: two owners with the same hash share a base, which costs space but not correctness. It is
// safe for concurrent use.
type baseTable struct {
	seed   maphash.Seed
	shards [shards]baseShard
}

const (
	shards   = 32
	minSweep = 8
)

type baseShard struct {
	mu      sync.Mutex // guards the fields below
	bases   map[uint64]weak.Pointer[source]
	sweepAt int // number of bases at which the dead ones are removed
}

func (t *baseTable) get(owner string) *source {
	hash := maphash.String(t.seed, owner)
	s := &t.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases[hash].Value()
}

func (t *baseTable) put(owner string, base *source) {
	hash := maphash.String(t.seed, owner)
	s := &t.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bases) >= s.sweepAt {
		s.sweep()
	}
	s.bases[hash] = weak.Make(base)
}

// sweep removes the bases that were garbage collected. It runs when the table has doubled since the
// last sweep, so its cost per put is constant. It copies, because maps do not shrink.
func (s *baseShard) sweep() {
	live := make(map[uint64]weak.Pointer[source])
	for hash, base := range s.bases {
		if base.Value() != nil {
			live[hash] = base
		}
	}
	s.bases, s.sweepAt = live, max(2*len(live), minSweep)
}
