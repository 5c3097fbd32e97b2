package decode

import "errors"

// With ShareEqual, what a field refers to (a map, a slice, a message behind a
// pointer) is looked up by the bytes that it would be decoded from. Those of a map
// or slice are the run of its elements, with their tags, as they follow each
// other in the message.
//
// What is shared is finished: nothing is ever written into it. Nor need it be, but
// for one case: Kubernetes' encoders do not write a field twice, or the elements of
// one field apart, but the wire format allows it and has it merged. So where a field
// has something already when more of it comes, all of the object is decoded again,
// without sharing. That also keeps merged things out of the table.

// errMerge ends the decoding of an object that cannot be shared.
var errMerge = errors.New("a field comes twice")

// minShared is the size of what is worth looking up: less is decoded as fast as it
// is found, and takes little memory.
const minShared = 4

// lookFor returns what an earlier object has in a field that is made of key. ok is
// false if there is none; then look tells whether to keep it when it is decoded.
// It is an error if the field is not nil.
func (d *Decoder) lookup(f *fieldPlan, at addr, key []byte) (w ref, look, ok bool, err error) {
	if d.shared == nil {
		return ref{}, false, false, nil
	}
	if !at.isNil() {
		return ref{}, false, false, errMerge
	}
	if len(key) < minShared || !f.shareHits.Try() {
		return ref{}, false, false, nil
	}
	if w, ok = d.shared.Get(f.id, key); ok {
		f.shareHits.Hit()
		return w, true, true, nil
	}
	f.shareHits.Miss()
	return ref{}, true, false, nil
}

// pointer decodes a message behind a pointer.
func (d *Decoder) decodePointer(f *fieldPlan, at addr, b []byte) error {
	w, look, ok, err := d.lookup(f, at, b)
	if err != nil || ok {
		if ok {
			at.setRef(w)
		}
		return err
	}
	to, there := at.deref()
	if !there {
		to = newAddr(f.message.goType)
		at.setPointer(to)
	}
	if err := d.decodeMessage(f.message, to, b); err != nil || !look {
		return err
	}
	at.setRef(d.shared.Put(f.id, b, at.ref()))
	return nil
}

// repeated decodes a run of elements, of which the first ends at end, and returns
// where the last does.
func (d *Decoder) decodeRepeated(f *fieldPlan, at addr, o wireField, end int) (last int, err error) {
	n, last := measureRun(o.b, o.start, o.content, end)
	key := o.b[o.start:last]
	w, look, ok, err := d.lookup(f, at, key)
	switch {
	case err != nil:
		return 0, err
	case ok && f.op >= opStringMap:
		at.setRef(w)
		return last, nil
	case ok:
		at.setSliceRef(w)
		return last, nil
	}
	r := &elementRun{b: o.b, pos: o.start, tagSize: o.content - o.start, left: n}
	if f.op < opStringMap {
		err = d.decodeSlice(f, at, r)
	} else {
		err = d.decodeMap(f, at, r)
	}
	if err != nil || !look || r.overrun {
		return last, err
	}
	if f.op < opStringMap {
		at.setSliceRef(d.shared.Put(f.id, key, at.sliceRef()))
	} else {
		at.setRef(d.shared.Put(f.id, key, at.ref()))
	}
	return last, nil
}
