package pack

import (
	"hash/maphash"
	"sync"
	"weak"
)

// owners finds the base of each owner's objects, as long as an object needs it.
// Owners are told apart by a hash: what two of them share a base for is stored
// correctly, in more bytes. It is safe for concurrent use.
type owners struct {
	seed   maphash.Seed
	shards [shards]ownersShard
}

const (
	shards   = 32
	minSweep = 8
)

type ownersShard struct {
	mu      sync.Mutex // guards the rest
	bases   map[uint64]weak.Pointer[source]
	sweepAt int // how many bases are so many that those gone are to be forgotten
}

func (o *owners) get(owner string) *source {
	hash := maphash.String(o.seed, owner)
	s := &o.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases[hash].Value()
}

func (o *owners) put(owner string, base *source) {
	hash := maphash.String(o.seed, owner)
	s := &o.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bases) >= s.sweepAt {
		s.sweep()
	}
	s.bases[hash] = weak.Make(base)
}

// sweep forgets the bases that are garbage. It is due when there are twice as many
// as it left the last time, so that it costs each of them little; and it makes a
// new map, as maps do not shrink.
func (s *ownersShard) sweep() {
	left := make(map[uint64]weak.Pointer[source])
	for hash, base := range s.bases {
		if base.Value() != nil {
			left[hash] = base
		}
	}
	s.bases, s.sweepAt = left, max(2*len(left), minSweep)
}
