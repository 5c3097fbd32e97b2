package intern

import "unsafe"

// Values holds values by bytes that determine them: what a piece of a message was
// decoded to, by that piece. The same bytes may mean several things; so a value is
// of a kind, a number that its user chooses.
type Values[V any] struct{ table *table[kindValue[V]] }

type kindValue[V any] struct {
	value V
	kind  uint32
}

// maxValue is how many bytes a value's may be: more than a Pod's containers mostly
// have.
const maxValue = 8 << 10

// NewValues returns an empty table. An ample one holds up to 7,168 values and, of the
// bytes that determine them, up to 8 MiB; a value with more than 8 KiB is not kept.
func NewValues[V any](size TableSize) *Values[V] {
	return &Values[V]{newTable[kindValue[V]](limits{maxSets: size.sets(1024), setBytes: maxValue})}
}

// Get returns the value of a kind that bytes determine.
func (v *Values[V]) Get(kind uint32, key []byte) (value V, ok bool) {
	if e := v.table.find(v.tag(kind, key), key); e != nil && e.value.kind == kind {
		return e.value.value, true
	}
	return value, false
}

// Put keeps a value of a kind for the bytes that determine it, of which it keeps a
// copy. It returns what is kept for them: another's value, if that was there first.
func (v *Values[V]) Put(kind uint32, key []byte, value V) V {
	if len(key) > maxValue {
		return value
	}
	e := v.table.insert(v.tag(kind, key), &entry[kindValue[V]]{kindValue[V]{value, kind}, string(key)})
	if e.value.kind != kind { // equal bytes, and equal tags by chance
		return value
	}
	return e.value.value
}

// tag is different for the kinds of a value.
func (v *Values[V]) tag(kind uint32, key []byte) uint32 {
	const spread = 0x9e3779b1 // odd, its bits all over the word (2^32 by the golden ratio)
	return (v.table.tag(key) ^ kind*spread) | 1
}

// Size returns how much the table holds. It walks over all of it.
func (v *Values[V]) Size() Size { return v.table.size() }

// Bytes makes equal byte slices one. Whoever writes into such a slice writes into
// everybody's.
type Bytes struct{ table *table[struct{}] }

// NewBytes returns an empty table. An ample one holds up to 16 MiB; slices of more than
// 16 KiB are not shared.
func NewBytes(size TableSize) *Bytes {
	return &Bytes{newTable[struct{}](limits{maxSets: size.sets(1024), setBytes: maxLong})}
}

// Worthwhile returns a slice with b's contents, of which it keeps nothing, and
// which is b's alone where w knows that such slices do not come again. It is never
// nil, and there is no room behind it: append copies it.
func (t *Bytes) Intern(b []byte, w *HitEstimator) []byte {
	if len(b) == 0 || len(b) > maxLong || !w.Try() {
		return append(make([]byte, 0, len(b)), b...)
	}
	tag := t.table.tag(b)
	e := t.table.find(tag, b)
	if e != nil {
		w.Hit()
	} else {
		w.Miss()
		e = t.table.insert(tag, &entry[struct{}]{key: string(b)})
	}
	// The key is nobody's but ours and the slices': what somebody can write into is
	// never given out as a string.
	return unsafe.Slice(unsafe.StringData(e.key), len(e.key))
}

// Size returns how much the table holds. It walks over all of it.
func (t *Bytes) Size() Size { return t.table.size() }
