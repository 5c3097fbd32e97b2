// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"

	"github.com/kinformer/kinformer/internal/protowire"
)

// decodeMessage decodes a message and merges it into the value at an address.
func (d *Decoder) decodeMessage(m *messagePlan, at addr, b []byte) error {
	if m.custom != nil {
		return m.custom(d, at, b)
	}
	if m.recursive {
		var err error
		if d, err = d.deeper(); err != nil {
			return err
		}
	}
	for i := 0; i < len(b); {
		start := i
		tag, next := uint64(b[i]), i+1
		if tag >= 0x80 { // the field number exceeds 15
			var err error
			if tag, next, err = protowire.Varint(b, i); err != nil {
				return err
			}
		}
		number, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return err
		}
		if int(number) < len(m.fields) && m.fields[number] != nil {
			f := m.fields[number]
			if i, err = d.decodeField(f, at.add(f.offset), wireField{b, start, next}, wire); err != nil {
				return wrapField(f.name, err)
			}
		} else if i, err = protowire.Skip(b, next, wire); err != nil {
			return err
		}
	}
	return nil
}

// wireField is the position of a field in an encoded message.
type wireField struct {
	b     []byte // the message
	start int    // of the tag
	value int    // after the tag
}

// decodeField decodes a field and returns its end. If the field is repeated, it decodes the whole
// run of fields with the same tag.
func (d *Decoder) decodeField(f *fieldPlan, at addr, w wireField, wire int) (end int, err error) {
	if wire != f.wire {
		if wire == protowire.TypeBytes && f.op >= opBools && f.op <= opInt64s {
			return f.appendPacked(at, w)
		}
		return 0, protowire.ErrType(wire)
	}
	if wire == protowire.TypeVarint {
		v, end, err := protowire.Varint(w.b, w.value)
		switch {
		case err != nil:
		case f.element != nil:
			end = f.appendNumbers(at, w, end)
		default:
			f.setNumber(at, v)
		}
		return end, err
	}
	from, end, err := protowire.Bounds(w.b, w.value)
	if err != nil {
		return 0, err
	}
	switch f.op {
	case opString:
		*at.string() = d.intern(w.b[from:end], f.strings)
	case opStringP:
		s := d.intern(w.b[from:end], f.strings)
		*at.stringP() = &s
	case opBytes:
		*at.bytes() = append(make([]byte, 0, end-from), w.b[from:end]...)
	case opSharedBytes:
		*at.bytes() = d.bytes.Intern(w.b[from:end], &d.hits[f.id])
	case opMessage:
		err = d.decodeMessage(f.message, at, w.b[from:end])
	case opMessageP:
		err = d.decodePointer(f, at, w.b[from:end])
	default:
		return d.decodeRepeated(f, at, w, end)
	}
	return end, err
}

// setNumber writes a number, truncated to the size of the field.
func (f *fieldPlan) setNumber(at addr, v uint64) {
	switch f.op {
	case opBool:
		*at.bool() = v != 0
	case opInt32:
		*at.int32() = int32(v)
	case opInt64:
		*at.int64() = int64(v)
	case opBoolP:
		*at.boolP() = new(v != 0)
	case opInt32P:
		*at.int32P() = new(int32(v))
	default:
		*at.int64P() = new(int64(v))
	}
}

// appendNumbers appends a run of numbers to a slice and returns its end. The first number ends at
// end. The slice has no spare capacity unless it had elements before; see addr.extend.
func (f *fieldPlan) appendNumbers(at addr, w wireField, end int) (last int) {
	n, last := measureRun(w.b, w.start, w.value, end, protowire.TypeVarint)
	if at.isNil() {
		*at.sliceHeader() = sliceHeader{f.element.newArray(n).p, 0, n}
	}
	for i := w.start; i < last; {
		var v uint64
		v, i, _ = protowire.Varint(w.b, i+w.value-w.start)
		f.appendNumber(at, v)
	}
	return last
}

// appendNumber appends a number to a slice.
func (f *fieldPlan) appendNumber(at addr, v uint64) {
	switch f.op {
	case opBools:
		*at.bools() = append(*at.bools(), v != 0)
	case opInt32s:
		*at.int32s() = append(*at.int32s(), int32(v))
	default:
		*at.int64s() = append(*at.int64s(), int64(v))
	}
}

// appendPacked decodes a packed field, numbers without tags. Like generated code, it accepts a last
// number that ends after the field, if it ends within the message.
func (f *fieldPlan) appendPacked(at addr, w wireField) (end int, err error) {
	i, to, err := protowire.Bounds(w.b, w.value)
	for err == nil && i < to {
		var v uint64
		if v, i, err = protowire.Varint(w.b, i); err == nil {
			f.appendNumber(at, v)
		}
	}
	return i, err
}

// maxPath is the maximum length of the text of an error to which wrapField adds a name. Messages
// may be nested deeply.
const maxPath = 1000

// wrapField adds the name of a field to an error, from the innermost field outwards.
func wrapField(name string, err error) error {
	if err == errMerge || len(err.Error()) > maxPath { //nolint:errorlint // errMerge is never wrapped
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
