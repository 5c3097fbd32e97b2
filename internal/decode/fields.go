package decode

import (
	"fmt"

	"github.com/kinformer/kinformer/internal/protowire"
)

// message decodes one occurrence of a message into what is there.
func (d *Decoder) decodeMessage(m *messagePlan, at addr, b []byte) error {
	if m.custom != nil {
		return m.custom(d, at, b)
	}
	for i := 0; i < len(b); {
		start := i
		tag, next := uint64(b[i]), i+1
		if tag >= 0x80 { // a number above 15
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

// occurrence is where a field is in the bytes of its message.
type wireField struct {
	b       []byte
	start   int // of its tag
	content int // behind it
}

// field decodes an occurrence of a field, with those of the same field that follow
// it if there may be many. It returns where it ends.
func (d *Decoder) decodeField(f *fieldPlan, at addr, o wireField, wire int) (end int, err error) {
	if wire != f.wire {
		if wire == protowire.TypeBytes && f.op >= opBools && f.op <= opInt64s {
			return f.appendPacked(at, o)
		}
		return 0, protowire.ErrType(wire)
	}
	if wire == protowire.TypeVarint {
		v, end, err := protowire.Varint(o.b, o.content)
		if err == nil {
			f.setNumber(at, v)
		}
		return end, err
	}
	from, end, err := protowire.Bounds(o.b, o.content)
	if err != nil {
		return 0, err
	}
	switch f.op {
	case opString:
		*at.string() = d.strings.Intern(o.b[from:end], f.strings)
	case opStringP:
		s := d.strings.Intern(o.b[from:end], f.strings)
		*at.stringP() = &s
	case opBytes:
		*at.bytes() = append(make([]byte, 0, end-from), o.b[from:end]...)
	case opSharedBytes:
		*at.bytes() = d.bytes.Intern(o.b[from:end], &f.bytesHits)
	case opMessage:
		err = d.decodeMessage(f.message, at, o.b[from:end])
	case opMessageP:
		err = d.decodePointer(f, at, o.b[from:end])
	default:
		return d.decodeRepeated(f, at, o, end)
	}
	return end, err
}

// number writes a number. What does not fit is cut off.
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
	case opInt64P:
		*at.int64P() = new(int64(v))
	default:
		f.appendNumber(at, v)
	}
}

// another appends a number.
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

// packed decodes numbers that follow each other without tags. As the generated
// code does, it lets the last one end behind the field, but in the message.
func (f *fieldPlan) appendPacked(at addr, o wireField) (end int, err error) {
	i, to, err := protowire.Bounds(o.b, o.content)
	for err == nil && i < to {
		var v uint64
		if v, i, err = protowire.Varint(o.b, i); err == nil {
			f.appendNumber(at, v)
		}
	}
	return i, err
}

// inField says in which field an error occurred: spec.containers.name, from the
// inside out.
func wrapField(name string, err error) error {
	if err == errMerge { //nolint:errorlint // it is wrapped nowhere: see share.go
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
