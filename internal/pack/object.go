package pack

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Object is an object at rest: its bytes, and what they were packed against. It is
// immutable, is copied as it likes, and may be unpacked by many goroutines at
// once. It takes 24 bytes besides its own, and is meant to be part of what keeps
// it. The zero Object is none.
type Object struct {
	from *source
	data string // of a base: empty, the bytes are with the source
}

// IsZero tells whether it is no object at all.
func (o Object) IsZero() bool { return o == Object{} }

// Size returns how many bytes are the object's own. What it shares with its
// siblings counts as the base's.
func (o Object) Size() int {
	if o.isBase() {
		return len(o.from.object.data)
	}
	return len(o.data)
}

// Unpack appends to dst the bytes that were packed. Bytes that are not what Pack
// made are an error which is ErrCorrupt, and cost at most a few hundred times
// their length in memory.
func (o Object) Unpack(dst []byte) ([]byte, error) {
	switch {
	case o.IsZero():
		return nil, fmt.Errorf("%w: there is no object", ErrCorrupt)
	case o.isBase():
		return o.from.object.Unpack(dst)
	case o.from == nil:
		return decode(dst, o.bytes(), nil)
	case o.from.dictionary != nil:
		return decode(dst, o.bytes(), o.from.dictionary.text)
	}
	w := o.from.desk.get()
	defer o.from.desk.put(w)
	base, err := w.unpack(o.from)
	if err != nil {
		return nil, err
	}
	return decode(dst, o.bytes(), base)
}

func (o Object) isBase() bool { return o.data == "" && o.from != nil }

// bytes returns data without a copy. Nobody writes to it.
func (o Object) bytes() []byte { return unsafe.Slice(unsafe.StringData(o.data), len(o.data)) }

// source is what objects are packed against: a dictionary, or a base, which is an
// object with siblings. It is immutable and lives as long as one of them does.
type source struct {
	dictionary *dictionary // nil of a base
	object     Object      // of a base: how it is packed itself, against no other base
	length     uint32      // of the base's bytes
	shared     atomic.Bool // there has been more than one object packed against it
	desk       *desk
}

// dictionary is a text of which objects without siblings are made.
type dictionary struct {
	text  []byte
	index *index
}
