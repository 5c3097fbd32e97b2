package decode

import (
	"errors"
	"fmt"
	"math"
)

// The wire format as the generated code reads it: what that refuses is refused,
// and what it accepts, which is more than the standard does, is accepted.

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireGroup   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

// Errors of the wire format. They do not say in which field; [Decoder.Decode] does.
var (
	errOverrun  = errors.New("it is longer than the message that it is part of")
	errOverflow = errors.New("a varint has more than 10 bytes")
	errLength   = errors.New("its length is negative")
	errEndGroup = errors.New("a group ends that did not begin")
)

// varint reads a varint at i.
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

// bounds reads a length at i and returns where the bytes are that it is of.
func bounds(b []byte, i int) (from, to int, err error) {
	if i < len(b) && b[i] < 0x80 { // as most are
		from = i + 1
		to = from + int(b[i])
	} else {
		v, next, err := varint(b, i)
		if err != nil {
			return 0, 0, err
		}
		if v > math.MaxInt {
			return 0, 0, errLength
		}
		if v > uint64(len(b)) {
			return 0, 0, errOverrun
		}
		from, to = next, next+int(v)
	}
	if to > len(b) {
		return 0, 0, errOverrun
	}
	return from, to, nil
}

// splitTag takes a field's tag apart.
func splitTag(tag uint64) (number int32, wire int, err error) {
	number, wire = int32(tag>>3), int(tag&7)
	switch {
	case wire == wireEnd:
		return 0, 0, errEndGroup
	case number <= 0:
		return 0, 0, fmt.Errorf("illegal field number %d", number)
	}
	return number, wire, nil
}

// skip returns where the field ends whose tag is at i, with all that is in it if it
// is a group.
func skip(b []byte, i int) (int, error) {
	for depth := 0; ; {
		tag, next, err := varint(b, i)
		if err != nil {
			return 0, err
		}
		wire := int(tag & 7)
		switch wire {
		case wireGroup:
			depth++
		case wireEnd:
			if depth == 0 {
				return 0, errEndGroup
			}
			depth--
		}
		if i, err = skipValue(b, next, wire); err != nil {
			return 0, err
		}
		if depth == 0 {
			return i, nil
		}
	}
}

// skipValue returns where the value at i ends.
func skipValue(b []byte, i, wire int) (end int, err error) {
	switch wire {
	case wireVarint:
		_, end, err = varint(b, i)
	case wireFixed64:
		end = i + 8
	case wireFixed32:
		end = i + 4
	case wireBytes:
		_, end, err = bounds(b, i)
	case wireGroup, wireEnd:
		end = i
	default:
		err = errWire(wire)
	}
	if err == nil && end > len(b) {
		err = errOverrun
	}
	return end, err
}

// errWire is the error of a wire type that a field cannot have.
func errWire(wire int) error { return fmt.Errorf("wrong wire type %d", wire) }

// run returns how many fields with the same tag follow each other, the first of
// which has its tag at start and its content in b[i:], and where the last of them
// ends. A field that is malformed is not one of them, except that the first is
// taken for well-formed up to end.
func run(b []byte, start, i, end int) (n, last int) {
	size := i - start
	for n = 1; ; n++ {
		next := end + size
		if next > len(b) || string(b[end:next]) != string(b[start:i]) {
			return n, end
		}
		_, to, err := bounds(b, next)
		if err != nil {
			return n, end
		}
		end = to
	}
}
