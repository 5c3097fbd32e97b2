package store

import (
	"hash/maphash"
	"slices"
)

// interner lets entries with equal index values share their meta. It forgets all that
// it knows instead of growing beyond a few thousand namespaces, or whatever the
// indexes are of. The zero value is ready.
type valueInterner struct {
	shared map[uint64]*indexValues // by hash
}

const maxInterned = 4096

// share returns a meta that remembers index values: nil where there is no index, old
// or a known one if it has the same.
func (in *valueInterner) intern(indexed [][]string, old *indexValues) *indexValues {
	if len(indexed) == 0 {
		return nil
	}
	if old != nil && sameValues(old.byIndex, indexed) {
		return old
	}
	hash := hashOf(indexed)
	if m := in.shared[hash]; m != nil && sameValues(m.byIndex, indexed) {
		return m
	}
	if in.shared == nil || len(in.shared) >= maxInterned {
		in.shared = make(map[uint64]*indexValues)
	}
	m := &indexValues{byIndex: indexed}
	in.shared[hash] = m
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
