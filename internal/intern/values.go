// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import "unsafe"

// Values holds decoded values, keyed by their encoding. The same bytes may encode different values
// in different fields, so a key belongs to a kind, a number that the caller chooses.
type Values[V any] struct{ table *table[kindValue[V]] }

type kindValue[V any] struct {
	value V
	kind  uint32
}

// maxKey is the length in bytes of the longest key, more than the containers of most Pods have.
const maxKey = 8 << 10

// NewValues returns an empty table. A large one holds up to 7,168 values and 8 MiB of keys. Values
// with keys of more than 8 KiB are not stored.
func NewValues[V any](size TableSize) *Values[V] {
	return &Values[V]{newTable[kindValue[V]](limits{maxSets: size.sets(1024), setBytes: maxKey})}
}

// Get returns the value of a kind with the given key.
func (v *Values[V]) Get(kind uint32, key []byte) (value V, ok bool) {
	if e := v.table.find(v.tag(kind, key), key); e != nil && e.value.kind == kind {
		return e.value.value, true
	}
	return value, false
}

// Put stores a value of a kind under a copy of key. It returns the stored value, which is another
// caller's if that was stored first.
func (v *Values[V]) Put(kind uint32, key []byte, value V) V {
	if len(key) > maxKey {
		return value
	}
	e := v.table.insert(v.tag(kind, key), &entry[kindValue[V]]{kindValue[V]{value, kind}, string(key)})
	if e.value.kind != kind { // equal keys of two kinds whose tags collide
		return value
	}
	return e.value.value
}

// tag returns the tag of a key, which differs between kinds.
func (v *Values[V]) tag(kind uint32, key []byte) uint32 {
	const spread = 0x9e3779b1 // 2^32 divided by the golden ratio
	return (v.table.tag(key) ^ kind*spread) | 1
}

// Bytes deduplicates byte slices. Equal slices share memory, so callers must not write into them.
type Bytes struct{ table *table[struct{}] }

// NewBytes returns an empty table. A large one holds up to 16 MiB. Slices of more than 16 KiB are
// not deduplicated.
func NewBytes(size TableSize) *Bytes {
	return &Bytes{newTable[struct{}](limits{maxSets: size.sets(1024), setBytes: maxLong})}
}

// Intern returns a non-nil slice with the contents and the length of b as its capacity. It does not
// retain b. The slice is a new one if, by the estimate in hits, such slices do not recur.
func (t *Bytes) Intern(b []byte, hits *HitEstimator) []byte {
	if len(b) == 0 || len(b) > maxLong || !hits.Try() {
		return append(make([]byte, 0, len(b)), b...)
	}
	tag := t.table.tag(b)
	e := t.table.find(tag, b)
	if e != nil {
		hits.Hit()
	} else {
		hits.Miss()
		e = t.table.insert(tag, &entry[struct{}]{key: string(b)})
	}
	// Only the table refers to the key as a string: writable memory must not be visible as one.
	return unsafe.Slice(unsafe.StringData(e.key), len(e.key))
}
