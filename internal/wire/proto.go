package wire

import (
	"encoding/binary"

	"github.com/kinformer/kinformer/internal/protowire"
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
// The first error ends the walk. The entries of maps are read as strictly as everything
// else, where the generated code is not.
type message struct {
	b   []byte
	i   int
	err error

	field int32
	wire  int
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
		tag, m.i, m.err = protowire.Varint(m.b, m.i)
	}
	if m.err == nil {
		m.field, m.wire, m.err = protowire.SplitTag(tag)
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
	if m.wire != protowire.TypeBytes {
		return 0, 0, protowire.ErrType(m.wire)
	}
	return protowire.Bounds(m.b, m.i)
}

// fail ends the walk, if err is an error that occurred in the field called name.
func (m *message) fail(name string, err error) {
	if err != nil && m.err == nil {
		m.err = inField(name, err)
	}
}

// skip passes over the current field, a group with all that is in it.
func (m *message) skip() {
	if m.err == nil {
		m.i, m.err = protowire.Skip(m.b, m.i, m.wire)
	}
}

// appendBytes appends a field that has bytes to a message.
func appendBytes(b []byte, field int32, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|protowire.TypeBytes)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}
