// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"math"
	"reflect"

	"github.com/kinformer/kinformer/internal/protowire"
)

// DecodeUpdate decodes two states of an object as Decode does. Strings, maps, slices and pointers
// of the new state whose encoding equals that in the old one are not decoded again: both states
// share them.
func (d *Decoder) DecodeUpdate(oldRaw, newRaw []byte) (old, updated any, err error) {
	if old, err = d.Decode(oldRaw); err != nil {
		return nil, nil, err
	}
	if updated, err = d.decodeAfter(state{addrOf(reflect.ValueOf(old)), oldRaw}, newRaw); err != nil {
		updated, err = d.Decode(newRaw)
	}
	return old, updated, err
}

// decodeAfter decodes the state that follows an old one, and returns an error if that has to be
// decoded alone.
func (d *Decoder) decodeAfter(old state, raw []byte) (_ any, err error) {
	defer recoverAs(&err)
	object := reflect.New(d.plan.root.goType)
	if err := d.decodeUpdated(d.plan.root, addrOf(object), raw, old); err != nil {
		return nil, err
	}
	return object.Interface(), nil
}

// state is a decoded message and its encoding.
type state struct {
	at  addr
	raw []byte
}

// decodeUpdated decodes a message into the zero value at an address, and shares parts with the old
// state. It returns an error if one of the states is not encoded as Kubernetes' encoders do: a
// field that occurs twice is merged, so that its value is not that of the bytes that are compared.
func (d *Decoder) decodeUpdated(m *messagePlan, at addr, raw []byte, old state) error {
	if m.custom != nil || m.recursive {
		return d.decodeMessage(m, at, raw)
	}
	is, was := fieldReader{message: m, b: raw}, fieldReader{message: m, b: old.raw}
	for {
		if err := is.next(); err != nil {
			return err
		}
		for was.number < is.number {
			if err := was.next(); err != nil {
				return err
			}
		}
		if is.number == endOfMessage {
			return nil
		}
		if f := is.field; f != nil {
			if err := d.decodeUpdatedField(f, at.add(f.offset), old.at.add(f.offset), &is, &was); err != nil {
				return err
			}
		}
	}
}

// decodeUpdatedField decodes the field that is has read. The field of the old state, if it has one,
// is at the address from, and was has read it.
func (d *Decoder) decodeUpdatedField(f *fieldPlan, to, from addr, is, was *fieldReader) error {
	if was.number == is.number {
		if bytes.Equal(is.encoding(), was.encoding()) && !is.overruns() && f.share(to, from) {
			return nil
		}
		if f.op == opMessage {
			return d.decodeUpdated(f.message, to, is.content(), state{from, was.content()})
		}
	}
	_, err := d.decodeField(f, to, wireField{is.b, is.start, is.value}, f.wire)
	return err
}

// share copies a string, pointer, map or slice of the field. It reports whether the field is one.
func (f *fieldPlan) share(to, from addr) bool {
	switch f.goType.Kind() {
	case reflect.String:
		*to.string() = *from.string()
	case reflect.Pointer, reflect.Map:
		to.setRef(from.ref())
	case reflect.Slice:
		to.setSliceRef(from.sliceRef())
	default:
		return false
	}
	return true
}

// fieldReader reads the fields of a message. All elements of a slice or a map are one field.
type fieldReader struct {
	message *messagePlan
	b       []byte

	// The field read last.
	field    *fieldPlan // nil if it is unknown
	number   int64
	start    int // of the tag
	value    int // after the tag
	elements int
	end      int
}

const endOfMessage = math.MaxInt32 + 1 // above any field's number

// next reads a field, or sets number to endOfMessage if there are no more. It returns an error if
// the fields are not in the order of their numbers, or the field has another wire type than its
// plan. Unknown fields may repeat. A packed number may end in the next field, so that the fields
// after it would be others than Decode finds.
func (r *fieldReader) next() error {
	if r.end == len(r.b) {
		r.number = endOfMessage
		return nil
	}
	tag, value, err := protowire.Varint(r.b, r.end)
	if err != nil {
		return err
	}
	number, wire, err := protowire.SplitTag(tag)
	if err != nil {
		return err
	}
	end, err := protowire.Skip(r.b, value, wire)
	if err != nil {
		return err
	}
	var f *fieldPlan
	if int(number) < len(r.message.fields) {
		f = r.message.fields[number]
	}
	if f != nil && wire != f.wire {
		return protowire.ErrType(wire)
	}
	if int64(number) < r.number || int64(number) == r.number && f != nil {
		return errMerge
	}
	r.field, r.number, r.start, r.value, r.elements, r.end = f, int64(number), r.end, value, 1, end
	if f != nil && (f.element != nil || f.op >= opStringMap) {
		r.elements, r.end = measureRun(r.b, r.start, value, end, wire)
	}
	return nil
}

// encoding returns the bytes of the field, tags included.
func (r *fieldReader) encoding() []byte { return r.b[r.start:r.end] }

// content returns the bytes of a field of one message.
func (r *fieldReader) content() []byte {
	from, to, _ := protowire.Bounds(r.b, r.value)
	return r.b[from:to]
}

// overruns reports whether an entry of a map includes bytes after the field, so that equal bytes
// may have another value.
func (r *fieldReader) overruns() bool {
	if r.field.op < opStringMap {
		return false
	}
	run := elementRun{b: r.b, pos: r.start, tagSize: r.value - r.start, left: r.elements}
	for run.left > 0 {
		if _, _, err := run.nextEntry(nil); err != nil || run.overrun {
			return true
		}
	}
	return false
}
