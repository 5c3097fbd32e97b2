package store

import (
	"hash/maphash"
	"slices"
)

// interner lets entries with equal index values share their meta: the objects of
// a list come namespace by namespace, so a handful of recent ones catches nearly
// all. It forgets instead of growing.
type interner struct {
	recent [64]*meta
}

// share returns a meta that remembers index values and nothing else: nil where
// there is no index, old or a recent one if it has the same.
func (in *interner) share(indexed [][]string, old *meta) *meta {
	if len(indexed) == 0 {
		return nil
	}
	if old != nil && !old.ownsIdentity && sameValues(old.indexed, indexed) {
		return old
	}
	slot := &in.recent[hashOf(indexed)%uint64(len(in.recent))]
	if *slot == nil || !sameValues((*slot).indexed, indexed) {
		*slot = &meta{indexed: indexed}
	}
	return *slot
}

// values returns index values equal to indexed, shared where they can be, for a
// meta that has more to remember.
func (in *interner) values(indexed [][]string, old *meta) [][]string {
	if old != nil && sameValues(old.indexed, indexed) {
		return old.indexed
	}
	if shared := in.share(indexed, nil); shared != nil {
		return shared.indexed
	}
	return nil
}

func sameValues(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }

var hashSeed = maphash.MakeSeed() //nolint:gochecknoglobals // never changes; every store may share it

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
