// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package protowire

import (
	"errors"
	"fmt"
	"math"
)

// Wire types, the low three bits of a tag.
const (
	TypeVarint  = 0
	TypeFixed64 = 1
	TypeBytes   = 2
	TypeGroup   = 3 // start of a group
	TypeEnd     = 4 // end of a group
	TypeFixed32 = 5
)

// Errors of the wire format. The caller adds the name of the field.
var (
	ErrOverrun  = errors.New("exceeds the enclosing message")
	ErrOverflow = errors.New("varint longer than 10 bytes")
	ErrLength   = errors.New("negative length")
	ErrEndGroup = errors.New("unmatched end-group tag")
)

// ErrType returns the error for a wire type that a field cannot have.
func ErrType(wire int) error { return fmt.Errorf("wrong wire type %d", wire) }

// Varint reads the varint at i and returns its value and the index after it. It returns ErrOverrun,
// not wrapped, if b ends before the varint does.
func Varint(b []byte, i int) (v uint64, next int, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		if i >= len(b) {
			return 0, i, ErrOverrun
		}
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i, nil
		}
	}
	return 0, i, ErrOverflow
}

// Bounds reads the length prefix at i and returns the bounds of the bytes after it.
func Bounds(b []byte, i int) (from, to int, err error) {
	if i < len(b) && b[i] < 0x80 { // the common case
		from = i + 1
		to = from + int(b[i])
	} else {
		v, next, err := Varint(b, i)
		if err != nil {
			return 0, 0, err
		}
		if v > math.MaxInt {
			return 0, 0, ErrLength
		}
		if v > uint64(len(b)) {
			return 0, 0, ErrOverrun
		}
		from, to = next, next+int(v)
	}
	if to > len(b) {
		return 0, 0, ErrOverrun
	}
	return from, to, nil
}

// SplitTag splits a tag into the field number and the wire type.
func SplitTag(tag uint64) (field int32, wire int, err error) {
	field, wire = int32(tag>>3), int(tag&7)
	switch {
	case wire == TypeEnd:
		return 0, 0, ErrEndGroup
	case field <= 0:
		return 0, 0, fmt.Errorf("invalid field number %d", field)
	}
	return field, wire, nil
}

// Skip returns the end of the field whose tag, with the given wire type, ends at i. A group is
// skipped with all its fields.
func Skip(b []byte, i, wire int) (end int, err error) {
	if wire == TypeBytes { // the common case
		_, end, err = Bounds(b, i)
		return end, err
	}
	for depth := 0; ; {
		if depth = Depth(depth, wire); depth < 0 {
			return 0, ErrEndGroup
		}
		if i, err = skipValue(b, i, wire); err != nil || depth == 0 {
			return i, err
		}
		var tag uint64
		if tag, i, err = Varint(b, i); err != nil {
			return 0, err
		}
		wire = int(tag & 7)
	}
}

// Depth returns the number of open groups after a tag, given the number before it.
func Depth(depth, wire int) int {
	switch wire {
	case TypeGroup:
		return depth + 1
	case TypeEnd:
		return depth - 1
	}
	return depth
}

// skipValue returns the end of the value at i.
func skipValue(b []byte, i, wire int) (end int, err error) {
	switch wire {
	case TypeVarint:
		_, end, err = Varint(b, i)
	case TypeFixed64:
		end = i + 8
	case TypeFixed32:
		end = i + 4
	case TypeBytes:
		_, end, err = Bounds(b, i)
	case TypeGroup, TypeEnd:
		end = i
	default:
		err = ErrType(wire)
	}
	if err == nil && end > len(b) {
		err = ErrOverrun
	}
	return end, err
}
