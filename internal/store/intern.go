package store

import (
	"hash/maphash"
	"slices"
)

// interner lets entries with equal index values share their meta. It forgets all that
// it knows instead of growing beyond a few thousand namespaces, or whatever the
// indexes are of. The zero value is ready.
type interner struct {
	known map[uint64]*meta // by hash
}

const maxKnown = 4096

// share returns a meta that remembers index values: nil where there is no index, old
// or a known one if it has the same.
func (in *interner) share(indexed [][]string, old *meta) *meta {
	if len(indexed) == 0 {
		return nil
	}
	if old != nil && sameValues(old.indexed, indexed) {
		return old
	}
	hash := hashOf(indexed)
	if m := in.known[hash]; m != nil && sameValues(m.indexed, indexed) {
		return m
	}
	if in.known == nil || len(in.known) >= maxKnown {
		in.known = make(map[uint64]*meta)
	}
	m := &meta{indexed: indexed}
	in.known[hash] = m
	return m
}

func sameValues(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }

// hashOf is the same for equal index values.
func hashOf(indexed [][]string) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, values := range indexed {
		h.WriteByte(0xff)
		for _, value := range values {
			h.WriteString(value)
			h.WriteByte(0xfe)
		}
	}
	return h.Sum64()
}
