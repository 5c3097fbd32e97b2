// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import "sync/atomic"

// Strings deduplicates strings.
//
// Short and long strings have a table each, so that neither evicts the other: there are many short
// strings (names, images, label values) and few long ones (annotations that hold whole objects).
type Strings struct {
	short, long *table[struct{}]
}

const (
	// maxShort is the length in bytes up to which a string is short. Names have up to 63 or 253
	// bytes, and label values up to 63.
	maxShort = 128
	// maxLong is the length in bytes up to which strings and byte slices are deduplicated.
	maxLong = 16 << 10
)

// NewStrings returns an empty table. A large one holds up to 114,688 strings of up to 128 bytes,
// and 8 MiB of longer ones.
func NewStrings(size TableSize) *Strings {
	return &Strings{
		short: newTable[struct{}](limits{maxSets: size.sets(16384), setBytes: unlimited}),
		long:  newTable[struct{}](limits{maxSets: size.sets(512), setBytes: maxLong}),
	}
}

// FieldCache holds the state of one field of a type whose values are interned: an estimate of
// whether they recur, and the last values that did. A field with few distinct values, or whose
// objects are similar to the ones before, is served from the cache without a table lookup.
type FieldCache struct {
	Hits  HitEstimator
	slots [cacheSlots]atomic.Pointer[entry[struct{}]]
}

// cacheSlots is the number of strings in a FieldCache, enough for most enumerations.
const cacheSlots = 8

// slot returns the slot of a non-empty string. It depends on the length and two of the bytes, so
// that different strings mostly have different slots.
func (c *FieldCache) slot(b []byte) *atomic.Pointer[entry[struct{}]] {
	return &c.slots[(len(b)+int(b[len(b)-1])+int(b[len(b)/2]))%cacheSlots]
}

// Intern returns b as a string, the value of a field. It does not retain b. If the field's values
// do not recur, it allocates a string without a lookup.
func (s *Strings) Intern(b []byte, field *FieldCache) string {
	if len(b) == 0 {
		return ""
	}
	slot := field.slot(b)
	cached := slot.Load()
	if cached != nil && cached.key == string(b) {
		return cached.key
	}
	t := s.table(len(b))
	if t == nil || !field.Hits.Try() {
		return string(b)
	}
	tag := t.tag(b)
	e := t.find(tag, b)
	if e == nil {
		field.Hits.Miss()
		return t.insert(tag, &entry[struct{}]{key: string(b)}).key
	}
	field.Hits.Hit()
	slot.Store(e)
	return e.key
}

// table returns the table for strings of a length, or nil if they are not deduplicated.
func (s *Strings) table(length int) *table[struct{}] {
	switch {
	case length > maxLong:
		return nil
	case length <= maxShort:
		return s.short
	}
	return s.long
}
