// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout says where the metadata is in an object's bytes. The splitter (internal/wire)
// finds it, and later stages need not parse the bytes again:
//
//	wire ──▶ feed.Item ──▶ omit, which moves the parts with its cuts ──▶ codec
//
// A layout is a hint. A stage that has none, or one that does not fit its bytes, parses the bytes.
package layout

import "math"

// Span is a part of an object's bytes. The zero Span means that the object lacks the part: none
// begins at 0. It is small, as items are copied from stage to stage.
type Span struct{ Start, End int32 }

// NewSpan returns a part of bytes that have a layout.
func NewSpan(start, end int) Span { return Span{int32(start), int32(end)} }

// Move returns the part whose start and end were moved.
func (s Span) Move(start, end int) Span {
	if s.IsZero() {
		return s
	}
	return NewSpan(int(s.Start)+start, int(s.End)+end)
}

// Extended returns s extended to end, or the part from start to end if s is zero.
func (s Span) Extended(start, end int) Span {
	if s.IsZero() {
		return NewSpan(start, end)
	}
	return NewSpan(int(s.Start), end)
}

// Of returns the part of the bytes.
func (s Span) Of(raw []byte) []byte { return raw[s.Start:s.End] }

// IsZero reports whether the object lacks the part.
func (s Span) IsZero() bool { return s == Span{} }

// Object is the layout of an object's bytes. The zero Object is that of an object whose layout is
// not known, such as one that has a part twice.
type Object struct {
	Length int32 // of the bytes

	APIVersion, Kind Span // in JSON, with the quotes

	Metadata Span // the message, or in JSON the object with its braces
	// Labels is the place of metadata.labels: in JSON of the object with its braces, in protobuf of
	// the fields from the first label to the last, among which may be others.
	Labels Span
	// Owners are the ownerReferences: in JSON the array with its brackets, in protobuf the fields
	// from the first owner to the last, among which may be others.
	Owners Span

	// SmallNumbers states that a float64 can hold every number in the JSON.
	SmallNumbers bool
}

// New returns the layout of bytes of a length, to which the caller adds the parts. It is zero for
// bytes that are too many to have a layout.
func New(length int) Object {
	if length > math.MaxInt32 {
		return Object{}
	}
	return Object{Length: int32(length)}
}

// Fits reports whether o may be the layout of raw: it is known, for bytes of this length.
func (o *Object) Fits(raw []byte) bool {
	return o.Length > 0 && int(o.Length) == len(raw) &&
		o.APIVersion.isIn(raw) && o.Kind.isIn(raw) && o.Metadata.isIn(raw) && o.Labels.isIn(raw) && o.Owners.isIn(raw)
}

func (s Span) isIn(raw []byte) bool {
	return 0 <= s.Start && s.Start <= s.End && int(s.End) <= len(raw)
}
