// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"math"

	"github.com/kinformer/kinformer/internal/protowire"
)

// protoReader iterates over the fields of a message in a window.
type protoReader struct {
	*window
	until int64 // offset at which the message must end; math.MaxInt64 for the whole body

	field int32
	wire  int
}

// next advances to the next field. It returns false at the end of the message.
func (r *protoReader) next() (bool, error) {
	r.release()
	if r.offset() == r.until {
		return false, nil
	}
	if r.pos == r.end {
		err := r.fill()
		if err == io.EOF && r.until == math.MaxInt64 {
			return false, nil
		}
		if err != nil {
			return false, noEOF(err)
		}
	}
	tag, err := r.varint()
	if err != nil {
		return false, err
	}
	r.field, r.wire, err = protowire.SplitTag(tag)
	return err == nil, err
}

func (r *protoReader) varint() (uint64, error) {
	for {
		v, next, err := protowire.Varint(r.buf[:r.end], r.pos)
		if err == protowire.ErrOverrun {
			if err := r.fill(); err != nil {
				return 0, noEOF(err)
			}
			continue
		}
		if err != nil {
			return 0, err
		}
		if r.base+int64(next) > r.until {
			return 0, protowire.ErrOverrun
		}
		r.pos = next
		return v, nil
	}
}

// length reads the length prefix of a field.
func (r *protoReader) length() (int64, error) {
	if r.wire != protowire.TypeBytes {
		return 0, protowire.ErrType(r.wire)
	}
	v, err := r.varint()
	if err != nil {
		return 0, err
	}
	if v > math.MaxInt64 {
		return 0, protowire.ErrLength
	}
	if int64(v) > r.until-r.offset() {
		return 0, fmt.Errorf("length %d: %w", v, protowire.ErrOverrun)
	}
	return int64(v), nil
}

// value reads the bytes of a field that is no item. They are valid until the next read.
func (r *protoReader) value() ([]byte, error) {
	n, err := r.length()
	if err == nil {
		err = r.headerLimit.check(n)
	}
	if err != nil {
		return nil, err
	}
	return r.bytes(n)
}

// bytes reads the next n bytes, which are valid until the next read.
func (r *protoReader) bytes(n int64) ([]byte, error) {
	if err := r.limit.check(n); err != nil {
		return nil, err
	}
	r.release()
	if err := r.need(int(n)); err != nil {
		return nil, err
	}
	r.pos += int(n)
	return r.buf[r.mark:r.pos:r.pos], nil
}

// skip skips the current field without holding it.
func (r *protoReader) skip() error {
	wire := r.wire
	for depth := 0; ; {
		depth = protowire.Depth(depth, wire)
		if err := r.skipValue(wire); err != nil || depth == 0 {
			return err
		}
		r.release()
		tag, err := r.varint()
		if err != nil {
			return err
		}
		wire = int(tag & 7)
	}
}

// skipValue skips the value after a tag.
func (r *protoReader) skipValue(wire int) error {
	n := int64(0)
	switch wire {
	case protowire.TypeVarint:
		_, err := r.varint()
		return err
	case protowire.TypeFixed64:
		n = 8
	case protowire.TypeFixed32:
		n = 4
	case protowire.TypeBytes:
		v, err := r.varint()
		if err != nil {
			return err
		}
		if v > math.MaxInt64 {
			return protowire.ErrLength
		}
		n = int64(v)
	case protowire.TypeGroup, protowire.TypeEnd:
	default:
		return protowire.ErrType(wire)
	}
	if n > r.until-r.offset() {
		return protowire.ErrOverrun
	}
	return r.discard(n)
}
