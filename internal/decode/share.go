// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import "errors"

// With ShareEqual, the map, slice or pointed-to message of a field is looked up by its encoding.
// The encoding of a map or slice is the run of its elements, tags included, in the enclosing
// message.
//
// Shared values are complete and never written to. The wire format also allows what Kubernetes'
// encoders do not write: a field that occurs twice, or whose elements are not consecutive, and is
// merged. If a field already has a value when more of it follows, the whole object is therefore
// decoded again without sharing, which also keeps merged values out of the table.

// errMerge aborts the decoding of an object that cannot share values.
var errMerge = errors.New("field occurs twice")

// minShared is the length in bytes of the shortest encoding that is looked up. A shorter one is
// decoded as fast as it is found, and its value takes little memory.
const minShared = 4

// lookup returns the value that an earlier object shares for the field with the encoding key. If
// there is none, store reports whether to store the value once it is decoded. It returns errMerge
// if the field has a value already.
func (d *Decoder) lookup(f *fieldPlan, at addr, key []byte) (value ref, store, ok bool, err error) {
	if d.shared == nil {
		return ref{}, false, false, nil
	}
	if !at.isNil() {
		return ref{}, false, false, errMerge
	}
	hits := &d.hits[f.id]
	if len(key) < minShared || !hits.Try() {
		return ref{}, false, false, nil
	}
	if value, ok = d.shared.Get(f.id, key); ok {
		hits.Hit()
		return value, true, true, nil
	}
	hits.Miss()
	return ref{}, true, false, nil
}

// decodePointer decodes a message behind a pointer.
func (d *Decoder) decodePointer(f *fieldPlan, at addr, b []byte) error {
	shared, store, ok, err := d.lookup(f, at, b)
	if err != nil || ok {
		if ok {
			at.setRef(shared)
		}
		return err
	}
	to, ok := at.deref()
	if !ok {
		to = newAddr(f.message.goType)
		at.setPointer(to)
	}
	if err := d.decodeMessage(f.message, to, b); err != nil || !store {
		return err
	}
	at.setRef(d.shared.Put(f.id, b, at.ref()))
	return nil
}

// decodeRepeated decodes a run of elements and returns its end. The first element ends at end.
func (d *Decoder) decodeRepeated(f *fieldPlan, at addr, w wireField, end int) (last int, err error) {
	n, last := measureRun(w.b, w.start, w.value, end, f.wire)
	key := w.b[w.start:last]
	shared, store, ok, err := d.lookup(f, at, key)
	switch {
	case err != nil:
		return 0, err
	case ok && f.op >= opStringMap:
		at.setRef(shared)
		return last, nil
	case ok:
		at.setSliceRef(shared)
		return last, nil
	}
	r := &elementRun{b: w.b, pos: w.start, tagSize: w.value - w.start, left: n}
	if f.op < opStringMap {
		err = d.decodeSlice(f, at, r)
	} else {
		err = d.decodeMap(f, at, r)
	}
	if err != nil || !store || r.overrun {
		return last, err
	}
	if f.op < opStringMap {
		at.setSliceRef(d.shared.Put(f.id, key, at.sliceRef()))
	} else {
		at.setRef(d.shared.Put(f.id, key, at.ref()))
	}
	return last, nil
}
