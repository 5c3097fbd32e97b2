// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Excerpt is the place of a part of an object's bytes, perhaps empty, that can be read without
// unpacking what follows it. The zero Excerpt is none.
type Excerpt struct {
	Start, End int
	Known      bool
}

func (x Excerpt) of(raw []byte) []byte { return raw[x.Start:x.End] }

// header is what precedes the instructions of a packed object.
type header struct {
	sum         uint32
	length      uint64
	excerpt     Excerpt
	fromBase    bool // the excerpt is that of the base
	instruction int  // offset of the first instruction
}

// The first number of an excerpt's place. From ownExcerpt on, it is ownExcerpt plus the excerpt's
// length, and the start follows.
const (
	excerptOfBase = iota
	noExcerpt
	ownExcerpt
)

// appendHeader appends the header of an object.
func appendHeader(out []byte, h header) []byte {
	out = binary.LittleEndian.AppendUint32(out, h.sum)
	out = binary.AppendUvarint(out, h.length)
	switch {
	case h.fromBase:
		return append(out, excerptOfBase)
	case !h.excerpt.Known:
		return append(out, noExcerpt)
	}
	out = binary.AppendUvarint(out, uint64(h.excerpt.End-h.excerpt.Start)+ownExcerpt)
	return binary.AppendUvarint(out, uint64(h.excerpt.Start))
}

// readHeader reads the header of an object. source is the length of what the object was packed
// against.
func readHeader(data []byte, source int) (h header, err error) {
	if len(data) <= checksumSize {
		return h, fmt.Errorf("%w: truncated header of %d bytes", ErrCorrupt, len(data))
	}
	h.sum, h.instruction = binary.LittleEndian.Uint32(data), checksumSize
	length, ok := h.uvarint(data)
	if !ok || !plausible(length, len(data)-checksumSize, source) {
		return h, fmt.Errorf("%w: implausible length %d", ErrCorrupt, length)
	}
	h.length = length
	switch first, ok := h.uvarint(data); {
	case !ok:
		return h, fmt.Errorf("%w: no place of an excerpt", ErrCorrupt)
	case first == excerptOfBase:
		h.fromBase = true
	case first >= ownExcerpt:
		start, ok := h.uvarint(data)
		n := first - ownExcerpt
		if !ok || start > length || n > length-start {
			return h, fmt.Errorf("%w: excerpt of %d bytes at %d of %d", ErrCorrupt, n, start, length)
		}
		h.excerpt = Excerpt{int(start), int(start + n), true}
	}
	return h, nil
}

// uvarint reads the next number.
func (h *header) uvarint(data []byte) (uint64, bool) {
	v, n := binary.Uvarint(data[h.instruction:])
	h.instruction += max(n, 0)
	return v, n > 0
}

// AppendExcerpt appends the excerpt to dst. ok is false if the object was packed without one. It
// does not verify the checksum, which needs the whole object. The error wraps ErrCorrupt.
func (o Object) AppendExcerpt(dst []byte) (excerpt []byte, ok bool, err error) {
	if o.IsZero() {
		return dst, false, fmt.Errorf("%w: zero object", ErrCorrupt)
	}
	if o.isBase() {
		return o.from.object.AppendExcerpt(dst)
	}
	h, err := readHeader(o.bytes(), o.from.size())
	switch base := o.base(); {
	case err != nil:
		return dst, false, err
	case h.fromBase && base != nil:
		return base.object.AppendExcerpt(dst)
	case !h.excerpt.Known || h.excerpt.Start == h.excerpt.End:
		return dst, h.excerpt.Known, nil
	case base != nil:
		w := o.from.pool.get()
		defer o.from.pool.put(w)
		raw, err := w.unpack(base)
		if err != nil {
			return dst, false, err
		}
		return decodeExcerpt(dst, o.bytes(), raw, h)
	case o.from != nil:
		return decodeExcerpt(dst, o.bytes(), o.from.dictionary, h)
	}
	return decodeExcerpt(dst, o.bytes(), nil, h)
}

// decodeExcerpt decodes an object up to the end of its excerpt, which it appends to dst.
func decodeExcerpt(dst, data, source []byte, h header) (excerpt []byte, ok bool, err error) {
	before := len(dst)
	var d decoder
	dst = d.start(dst, data, source, h)
	if err := d.decodeTo(h.excerpt.End); err != nil {
		return dst[:before], false, err
	}
	if d.done < h.excerpt.End {
		return dst[:before], false, fmt.Errorf("%w: decoded %d bytes, want %d", ErrCorrupt, d.done, h.excerpt.End)
	}
	return append(dst[:before], h.excerpt.of(d.out)...), true, nil
}

// ExcerptGroup identifies objects that have the same excerpt. The zero ExcerptGroup is none.
type ExcerptGroup struct{ base *source }

// ExcerptGroup returns the group of the object, zero if the object may be the only one. It does not
// read the excerpt.
func (o Object) ExcerptGroup() ExcerptGroup {
	base := o.base()
	if base == nil || !base.shared.Load() {
		return ExcerptGroup{}
	}
	if o.isBase() {
		return ExcerptGroup{base}
	}
	if h, err := readHeader(o.bytes(), base.size()); err != nil || !h.fromBase {
		return ExcerptGroup{}
	}
	return ExcerptGroup{base}
}

// hasExcerpt reports whether the excerpt of a base, whose bytes are text, equals that of raw.
func (s *source) hasExcerpt(text, raw []byte, excerpt Excerpt) bool {
	h, err := readHeader(s.object.bytes(), s.object.from.size())
	return err == nil && h.excerpt.Known && excerpt.Known && bytes.Equal(h.excerpt.of(text), excerpt.of(raw))
}

// size returns the length of the source, which may be nil.
func (s *source) size() int {
	switch {
	case s == nil:
		return 0
	case s.dictionary != nil:
		return len(s.dictionary)
	}
	return int(s.length)
}
