// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/protowire"
)

// Check returns the error that Decode returns for raw. It walks over the bytes and builds nothing.
// Only if the walk meets what Kubernetes' encoders do not write, valid or not, Check decodes the
// object.
func (d *Decoder) Check(raw []byte) error {
	if d.plan.root.walk.accepts(raw) {
		return nil
	}
	_, err := d.Decode(raw)
	return err
}

// walk is the part of a messagePlan that Check needs, laid out for speed.
//
// Invariant: Decode accepts every message that a walk accepts. A walk may reject a message that
// Decode accepts.
type walk struct {
	fields []walkField         // by number
	leaf   func(b []byte) bool // checks messages that are not walked over; nil for others
}

// walkField describes how to pass over a field.
type walkField struct {
	message *walk  // of a message or an entry of a map; nil if every value is valid
	tag     uint16 // 0 if there is no field of this number
	number  bool   // the value is a varint; otherwise it has a length
}

// noTag is in the place of field 0: no encoded tag is equal to it.
const noTag = 1<<16 - 1

// newWalk returns the walk of a type. The compiler adds the fields.
func newWalk(t reflect.Type) *walk {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return &walk{leaf: acceptsQuantity}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return &walk{leaf: acceptsTimestamp}
	}
	return &walk{}
}

// addFields adds the fields of a plan, or lets Decode check messages without a plan, and recursive
// ones, whose depth it counts.
func (w *walk) addFields(m *messagePlan) {
	if m.custom != nil || m.recursive {
		w.leaf = func([]byte) bool { return false }
		return
	}
	w.fields = make([]walkField, max(1, len(m.fields)))
	w.fields[0].tag = noTag
	for number, f := range m.fields {
		if f != nil {
			w.fields[number] = walkField{f.walk(), uint16(number<<3 | f.wire), f.wire == protowire.TypeVarint}
		}
	}
}

// walk returns the walk of a field's messages, or of its entries if the field is a map.
func (f *fieldPlan) walk() *walk {
	var message *walk
	if f.message != nil {
		message = f.message.walk
	}
	switch f.op {
	case opQuantityMap:
		return walkOfEntries(newWalk(f.goType.Elem()))
	case opStringMap, opBytesMap, opMessageMap:
		return walkOfEntries(message)
	default:
		return message
	}
}

// walkOfEntries returns the walk of the entries of a map: messages with a string as key.
func walkOfEntries(value *walk) *walk {
	const key, val = 1<<3 | protowire.TypeBytes, 2<<3 | protowire.TypeBytes
	return &walk{fields: []walkField{{tag: noTag}, {tag: key}, {tag: val, message: value}}}
}

// accepts reports whether b is a message as Kubernetes' encoders write it. The message may have
// fields that the plan does not know.
func (w *walk) accepts(b []byte) bool {
	if w.leaf != nil {
		return w.leaf(b)
	}
	fields := w.fields
	for i := 0; i < len(b); {
		tag := uint(b[i])
		i++
		if tag >= 0x80 { // the field number exceeds 15
			if i == len(b) || b[i] >= 0x80 {
				return false
			}
			tag = tag&0x7f | uint(b[i])<<7
			i++
		}
		if i == len(b) {
			return false
		}
		number := tag >> 3
		if number >= uint(len(fields)) || uint(fields[number].tag) != tag {
			if i = w.skipUnknown(b, i, tag); i == 0 {
				return false
			}
			continue
		}
		f := &fields[number]
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			var err error
			if v, i, err = protowire.Varint(b, i-1); err != nil {
				return false
			}
		}
		if f.number {
			continue
		}
		if v > uint64(len(b)-i) {
			return false
		}
		end := i + int(v)
		if f.message != nil && !f.message.accepts(b[i:end]) {
			return false
		}
		i = end
	}
	return true
}

// skipUnknown returns the end of a field that the plan does not know, whose tag ends at i. It
// returns 0 for a known field with the wrong wire type, and for a malformed one.
func (w *walk) skipUnknown(b []byte, i int, tag uint) (end int) {
	number := tag >> 3
	if number == 0 || number < uint(len(w.fields)) && w.fields[number].tag != 0 {
		return 0
	}
	end, err := protowire.Skip(b, i, int(tag&7))
	if err != nil {
		return 0
	}
	return end
}

// acceptsTimestamp reports whether b is an encoded Time. It compares the usual encoding, seconds in
// five bytes and zero nanoseconds, at once.
func acceptsTimestamp(b []byte) bool {
	const mask, usual = 0xff_ff_80_80_80_80_80_ff, 0x00_10_00_80_80_80_80_08
	if len(b) == 8 && binary.LittleEndian.Uint64(b)&mask == usual {
		return true
	}
	_, _, err := decodeTimestamp(b)
	return err == nil
}

// quantityDigits is the number of digits that a Quantity may have with every suffix.
const quantityDigits = 15

// acceptsQuantity reports whether b is an encoded Quantity of digits and a suffix.
func acceptsQuantity(b []byte) bool {
	if len(b) < 2 || b[0] != quantityTag || int(b[1]) != len(b)-2 {
		return false
	}
	text, digits := b[2:], 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > quantityDigits {
		return false
	}
	switch string(text[digits:]) {
	case "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei":
		return true
	}
	return false
}
