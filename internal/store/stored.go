// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"iter"
	"slices"

	"github.com/kinformer/kinformer/internal/pack"
)

// Stored is an entry's value as the store keeps it, for readers that need not decode all of it.
type Stored[V any] struct {
	Packed pack.Object
	Value  V // if Packed is zero
}

// stored returns a reference's value as it is kept.
func (s *Store[V]) stored(ref *valueRef) (stored Stored[V]) {
	if s.config.Packer == nil {
		stored.Value = s.value(ref)
		return stored
	}
	p := packedOf(ref)
	if value, ok := s.unpackedValue(p); ok {
		stored.Value = value
		return stored
	}
	stored.Packed = p.object
	return stored
}

// FindStored is Find without decoding.
func (s *Store[V]) FindStored(key string) (stored Stored[V], exists bool, err error) {
	if ref := s.entries.Get(key); ref != nil {
		return s.stored(ref), true, nil
	}
	err = s.KeyError(key)
	if ref := s.entries.Get(key); ref != nil { // stored in between
		return s.stored(ref), true, nil
	}
	return stored, false, err
}

// keyRef is a key and the reference of its value.
type keyRef struct {
	key string
	ref *valueRef
}

// Stored returns an iterator over all keys and values as they are kept. Packed ones that share a base
// follow one another, so that it is unpacked once.
func (v *snapshotData[V]) Stored() iter.Seq2[string, Stored[V]] {
	refs := make([]keyRef, 0, v.entries.Len())
	for key, item := range v.entries.All() {
		refs = append(refs, keyRef{key, item.Value})
	}
	return v.byBase(refs)
}

// StoredByIndex is Stored for the entries that an index has under a value. It returns an error if
// the index does not exist.
func (v *snapshotData[V]) StoredByIndex(name, value string) (iter.Seq2[string, Stored[V]], error) {
	set, err := v.find(name, value)
	if err != nil {
		return nil, err
	}
	var refs []keyRef
	if set != nil {
		for key := range set.All() {
			if ref := v.entries.Get(key); ref != nil {
				refs = append(refs, keyRef{key, ref})
			}
		}
	}
	return v.byBase(refs), nil
}

func (v *snapshotData[V]) byBase(refs []keyRef) iter.Seq2[string, Stored[V]] {
	if v.store.IsPacked() {
		slices.SortFunc(refs, func(a, b keyRef) int {
			return cmp.Compare(packedOf(a.ref).object.Base(), packedOf(b.ref).object.Base())
		})
	}
	return func(yield func(string, Stored[V]) bool) {
		for _, r := range refs {
			if !yield(r.key, v.store.stored(r.ref)) {
				return
			}
		}
	}
}
