// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"math"
	"reflect"

	"github.com/kinformer/kinformer/internal/protowire"
)

// DecodeUpdate decodes two states of an object. Strings, maps, slices and values behind pointers of
// the new state whose encoding is that in the old one are not decoded again: both states share
// them.
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
// state. It returns an error if the fields of one of the states are not in the order of their
// numbers, in which Kubernetes' encoders write them: a field that occurs twice is merged.
func (d *Decoder) decodeUpdated(m *messagePlan, at addr, raw []byte, old state) error {
	if m.custom != nil {
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
		f := is.field
		if f == nil {
			continue
		}
		to, from := at.add(f.offset), old.at.add(f.offset)
		if was.number == is.number {
			if bytes.Equal(is.encoding(), was.encoding()) && !is.overruns() && f.share(to, from) {
				continue
			}
			if f.op == opMessage {
				if err := d.decodeUpdated(f.message, to, is.content(), state{from, was.content()}); err != nil {
					return err
				}
				continue
			}
		}
		if _, err := d.decodeField(f, to, wireField{raw, is.start, is.value}, is.wire); err != nil {
			return err
		}
	}
}

// share copies a value of the field, but numbers and messages that are part of the struct. It
// reports whether it has.
func (f *fieldPlan) share(to, from addr) bool {
	switch f.op {
	case opString:
		*to.string() = *from.string()
	case opBoolP, opInt32P, opInt64P, opStringP, opMessageP, opStringMap, opBytesMap, opQuantityMap, opMessageMap:
		to.setRef(from.ref())
	case opStrings, opBytes, opSharedBytes, opMessages:
		to.setSliceRef(from.sliceRef())
	default:
		return false
	}
	return true
}

// fieldReader reads the fields of a message. All consecutive elements of a slice or a map are one.
type fieldReader struct {
	message *messagePlan
	b       []byte

	// The field read last.
	field    *fieldPlan // nil if it is unknown
	number   int32
	wire     int
	start    int // of the tag
	value    int // after the tag
	elements int
	end      int
}

const endOfMessage = math.MaxInt32 // above any field's number

// next reads a field, or sets number to endOfMessage if there are no more. It returns errMerge if
// the field's number is not larger than that before, except those of unknown fields and of lists of
// numbers.
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
	if number < r.number || number == r.number && f != nil && (f.op < opBools || f.op > opInt64s) {
		return errMerge
	}
	r.field, r.number, r.wire, r.start, r.value, r.elements, r.end = f, number, wire, r.end, value, 1, end
	if f != nil && f.isRepeated() && wire == protowire.TypeBytes {
		r.elements, r.end = measureRun(r.b, r.start, value, end)
	}
	return nil
}

// isRepeated reports whether consecutive fields are decoded as one.
func (f *fieldPlan) isRepeated() bool {
	return f.op == opStrings || f.op >= opMessages
}

// encoding returns the bytes of the field, tags included.
func (r *fieldReader) encoding() []byte { return r.b[r.start:r.end] }

// content returns the bytes of a field of one message.
func (r *fieldReader) content() []byte {
	from, to, err := protowire.Bounds(r.b, r.value)
	if err != nil {
		return nil
	}
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
