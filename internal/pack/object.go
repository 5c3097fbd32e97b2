// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Object is a packed object: its own bytes, and a pointer to what they were packed against. It is
// immutable, may be copied, and is safe for concurrent use. It takes 24 bytes in addition to its
// data. The zero Object holds no object.
type Object struct {
	from *source
	data string // empty for a base, whose bytes are in the source
}

// IsZero reports whether o holds no object.
func (o Object) IsZero() bool { return o == Object{} }

// Size returns the size of the object's own bytes. The bytes of a shared base count as the base's.
func (o Object) Size() int {
	if o.isBase() {
		return len(o.from.object.data)
	}
	return len(o.data)
}

// Unpack appends the unpacked bytes to dst. If the packed bytes are damaged, the error wraps
// ErrCorrupt, and Unpack allocates at most a few hundred times their size.
func (o Object) Unpack(dst []byte) ([]byte, error) {
	switch {
	case o.IsZero():
		return nil, fmt.Errorf("%w: zero object", ErrCorrupt)
	case o.isBase():
		return o.from.object.Unpack(dst)
	case o.from == nil:
		return decode(dst, o.bytes(), nil)
	case o.from.dictionary != nil:
		return decode(dst, o.bytes(), o.from.dictionary)
	}
	w := o.from.pool.get()
	defer o.from.pool.put(w)
	base, err := w.unpack(o.from)
	if err != nil {
		return nil, err
	}
	return decode(dst, o.bytes(), base)
}

func (o Object) isBase() bool { return o.data == "" && o.from != nil }

// bytes returns data without a copy. The caller must not modify it.
func (o Object) bytes() []byte { return unsafe.Slice(unsafe.StringData(o.data), len(o.data)) }

// source is what objects are packed against: a dictionary or a base. It is immutable but for
// shared, and is reachable only through the objects packed against it.
type source struct {
	dictionary []byte      // a text from which bases and objects without an owner are assembled; nil for a base
	object     Object      // a base's own packed bytes; never packed against another base
	length     uint32      // unpacked length of a base
	shared     atomic.Bool // more than one object was packed against this base
	pool       *workspacePool
}
