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
func (d *Decoder) lookFor(f *field, at place, key []byte) (w word, look, ok bool, err error) {
	if d.shared == nil {
		return word{}, false, false, nil
	}
	if !at.isNil() {
		return word{}, false, false, errMerge
	}
	if len(key) < minShared || !f.sharable.Try() {
		return word{}, false, false, nil
	}
	if w, ok = d.shared.Get(f.id, key); ok {
		f.sharable.Hit()
		return w, true, true, nil
	}
	f.sharable.Miss()
	return word{}, true, false, nil
}

// pointer decodes a message behind a pointer.
func (d *Decoder) pointer(f *field, at place, b []byte) error {
	w, look, ok, err := d.lookFor(f, at, b)
	if err != nil || ok {
		if ok {
			at.refer(w)
		}
		return err
	}
	to, there := at.deref()
	if !there {
		to = newPlace(f.message.goType)
		at.point(to)
	}
	if err := d.message(f.message, to, b); err != nil || !look {
		return err
	}
	at.refer(d.shared.Put(f.id, b, at.reference()))
	return nil
}

// repeated decodes a run of elements, of which the first ends at end, and returns
// where the last does.
func (d *Decoder) repeated(f *field, at place, o occurrence, end int) (last int, err error) {
	n, last := run(o.b, o.start, o.i, end)
	key := o.b[o.start:last]
	w, look, ok, err := d.lookFor(f, at, key)
	switch {
	case err != nil:
		return 0, err
	case ok && f.op >= opStringMap:
		at.refer(w)
		return last, nil
	case ok:
		at.setView(w)
		return last, nil
	}
	r := &elements{b: o.b, i: o.start, tag: o.i - o.start, n: n}
	if f.op < opStringMap {
		err = d.slice(f, at, r)
	} else {
		err = d.mapOf(f, at, r)
	}
	if err != nil || !look || r.outside {
		return last, err
	}
	if f.op < opStringMap {
		at.setView(d.shared.Put(f.id, key, at.view()))
	} else {
		at.refer(d.shared.Put(f.id, key, at.reference()))
	}
	return last, nil
}
