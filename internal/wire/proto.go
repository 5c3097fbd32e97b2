// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"

	"github.com/kinformer/kinformer/internal/protowire"
)

// message iterates over the fields of a protobuf message:
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
// The first error ends the iteration. The entries of maps are read as strictly as other messages,
// unlike in generated code.
type message struct {
	b   []byte
	i   int
	err error

	field int32
	wire  int
}

// next advances to the next field. It returns false at the end of the message and after an error.
func (m *message) next() bool {
	if m.err != nil || m.i >= len(m.b) {
		return false
	}
	tag := uint64(m.b[m.i])
	if tag < 0x80 { // all fields with a number below 16
		m.i++
	} else {
		tag, m.i, m.err = protowire.Varint(m.b, m.i)
	}
	if m.err == nil {
		m.field, m.wire, m.err = protowire.SplitTag(tag)
	}
	return m.err == nil
}

// value returns the bytes of a string, bytes or message field. An error names the field.
func (m *message) value(name string) []byte {
	start, end, err := m.bounds()
	if err != nil {
		m.fail(name, err)
		return nil
	}
	m.i = end
	return m.b[start:end]
}

// bounds returns the bounds of a field's bytes.
func (m *message) bounds() (start, end int, err error) {
	if m.wire != protowire.TypeBytes {
		return 0, 0, protowire.ErrType(m.wire)
	}
	return protowire.Bounds(m.b, m.i)
}

// fail ends the iteration if err, an error in the field called name, is not nil.
func (m *message) fail(name string, err error) {
	if err != nil && m.err == nil {
		m.err = inField(name, err)
	}
}

// skip skips the current field. A group is skipped with all its fields.
func (m *message) skip() {
	if m.err == nil {
		m.i, m.err = protowire.Skip(m.b, m.i, m.wire)
	}
}

// appendBytes appends a bytes field to a message.
func appendBytes(b []byte, field int32, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|protowire.TypeBytes)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}
