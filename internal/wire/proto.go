package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The protobuf wire format, as the generated Unmarshal functions of apimachinery
// read it: what they refuse is refused, what they accept is accepted, overlong
// varints and groups among unknown fields included. One exception: the entries
// of maps are read as strictly as everything else.

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireGroup   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

var (
	errOverrun  = errors.New("longer than the message that it is part of")
	errOverflow = errors.New("a varint of more than 10 bytes")
	errLength   = errors.New("a negative length")
	errEndGroup = errors.New("the end of a group that did not begin")
)

// message walks over the fields of a protobuf message in memory:
//
//	for m.next() {
//		switch m.field {
//		case 1:
//			name = m.value("name")
//		default:
//			m.skip()
//		}
//	}
//	return m.err
//
// The first error ends the walk.
type message struct {
	b   []byte
	i   int
	err error

	field int32
	wire  int
}

// varint reads a varint at i. It returns errOverrun if b ends before the varint
// does.
func varint(b []byte, i int) (v uint64, next int, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		if i >= len(b) {
			return 0, i, errOverrun
		}
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i, nil
		}
	}
	return 0, i, errOverflow
}

// splitTag takes a field's tag apart.
func splitTag(tag uint64) (field int32, wire int, err error) {
	field, wire = int32(tag>>3), int(tag&7)
	switch {
	case wire == wireEnd:
		return 0, 0, errEndGroup
	case field <= 0:
		return 0, 0, fmt.Errorf("illegal field number %d", field)
	}
	return field, wire, nil
}

// length makes a length of a varint.
func length(v uint64) (int, error) {
	if v > math.MaxInt {
		return 0, errLength
	}
	return int(v), nil
}

// next goes to the next field. It returns false at the end of the message, and
// when there is an error.
func (m *message) next() bool {
	if m.err != nil || m.i >= len(m.b) {
		return false
	}
	tag := uint64(m.b[m.i])
	if tag < 0x80 { // as of all fields with a number below 16
		m.i++
	} else {
		tag, m.i, m.err = varint(m.b, m.i)
	}
	if m.err == nil {
		m.field, m.wire, m.err = splitTag(tag)
	}
	return m.err == nil
}

// value returns the bytes of a field that has some: a string, bytes, a message.
// The field is called name, should there be an error.
func (m *message) value(name string) []byte {
	start, end, err := m.bounds()
	if err != nil {
		m.fail(name, err)
		return nil
	}
	m.i = end
	return m.b[start:end]
}

// bounds returns where the bytes of a field are.
func (m *message) bounds() (start, end int, err error) {
	if m.wire != wireBytes {
		return 0, 0, errWire(m.wire)
	}
	v, start, err := varint(m.b, m.i)
	if err != nil {
		return 0, 0, err
	}
	n, err := length(v)
	if err != nil {
		return 0, 0, err
	}
	if n > len(m.b)-start {
		return 0, 0, errOverrun
	}
	return start, start + n, nil
}

// fail ends the walk, if err is an error that occurred in the field called name.
func (m *message) fail(name string, err error) {
	if err != nil && m.err == nil {
		m.err = inField(name, err)
	}
}

// skip passes over the current field, a group with all that is in it.
func (m *message) skip() {
	wire := m.wire
	for depth := 0; m.err == nil; {
		depth = groupDepth(depth, wire)
		m.err = m.skipValue(wire)
		if depth == 0 || m.err != nil {
			return
		}
		var tag uint64
		tag, m.i, m.err = varint(m.b, m.i)
		wire = int(tag & 7)
	}
}

// skipValue passes over what follows a tag.
func (m *message) skipValue(wire int) (err error) {
	n := 0
	switch wire {
	case wireVarint:
		_, m.i, err = varint(m.b, m.i)
	case wireFixed64:
		n = 8
	case wireFixed32:
		n = 4
	case wireBytes:
		var v uint64
		if v, m.i, err = varint(m.b, m.i); err == nil {
			n, err = length(v)
		}
	case wireGroup, wireEnd:
	default:
		err = errWire(wire)
	}
	if err != nil {
		return err
	}
	if n > len(m.b)-m.i {
		return errOverrun
	}
	m.i += n
	return nil
}

// groupDepth is how many groups are open behind a tag.
func groupDepth(depth, wire int) int {
	switch wire {
	case wireGroup:
		return depth + 1
	case wireEnd:
		return depth - 1
	}
	return depth
}

// errWire is the error of a wire type that a field cannot have.
func errWire(wire int) error { return fmt.Errorf("wrong wire type %d", wire) }

// appendBytes appends a field that has bytes to a message.
func appendBytes(b []byte, field int32, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|wireBytes)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}
