// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"errors"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/intern"
)

// JSON decodes unstructured objects like apimachinery: into maps, slices, strings, int64 for
// numbers written as integers that fit, and float64 for others. Objects share member names and
// recurring strings, but never maps or slices. It is safe for concurrent use.
//
// It decodes the JSON that API servers write. Unsupported or invalid input is passed on to
// apimachinery's decoder.
type JSON struct {
	strings *intern.JSONStrings
	readers sync.Pool // of *jsonReader
}

// NewJSON returns a decoder with empty tables. It ignores ShareEqual.
func NewJSON(options Options) *JSON {
	return &JSON{strings: intern.NewJSONStrings(options.tableSize()), readers: sync.Pool{New: func() any { return &jsonReader{} }}}
}

// Decode decodes an object. It does not retain raw.
func (j *JSON) Decode(raw []byte) (object map[string]any, err error) {
	r := j.readers.Get().(*jsonReader)
	defer j.readers.Put(r)
	if object, err = r.readDocument(j.strings, raw); err == nil {
		return object, nil
	}
	object = nil
	err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
	return object, err
}

// errUnsupported reports input that jsonReader does not read, valid or not.
var errUnsupported = errors.New("unsupported JSON")

const (
	maxDepth = 200
	// maxRetainedValues is the largest stack, in values, that a reader keeps for reuse.
	maxRetainedValues = 4096
)

// jsonReader reads one document. Stacks hold the parts of unfinished objects and arrays, so that a
// map or slice is allocated once its size is known.
type jsonReader struct {
	strings *intern.JSONStrings
	raw     []byte
	pos     int
	depth   int

	names  []string // member names of unfinished objects
	values []any
	peak   int // largest length of values, and so of names
}

func (r *jsonReader) readDocument(strings *intern.JSONStrings, raw []byte) (map[string]any, error) {
	r.strings, r.raw, r.pos, r.depth = strings, raw, 0, 0
	defer r.reset()
	if r.skipSpace() != '{' {
		return nil, errUnsupported
	}
	object, err := r.readObject()
	if err == nil && (r.skipSpace() != 0 || r.pos < len(r.raw)) {
		err = errUnsupported
	}
	return object, err
}

// reset drops references to the document.
func (r *jsonReader) reset() {
	r.strings, r.raw = nil, nil
	clear(r.values[:r.peak])
	clear(r.names[:min(r.peak, cap(r.names))])
	r.names, r.values, r.peak = r.names[:0], r.values[:0], 0
	if cap(r.values) > maxRetainedValues {
		r.names, r.values = nil, nil
	}
}

// skipSpace skips white space and returns the next byte, or 0 at the end.
func (r *jsonReader) skipSpace() byte {
	for ; r.pos < len(r.raw); r.pos++ {
		switch c := r.raw[r.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// readValue reads a value of member.
func (r *jsonReader) readValue(member *intern.Member) (any, error) {
	switch c := r.skipSpace(); c {
	case '{':
		return r.readObject()
	case '[':
		return r.readArray(member)
	case '"':
		content, err := r.readString()
		if err != nil {
			return nil, err
		}
		return r.strings.Intern(content, member), nil
	case 't':
		return true, r.readLiteral("true")
	case 'f':
		return false, r.readLiteral("false")
	case 'n':
		return nil, r.readLiteral("null")
	default:
		return r.readNumber()
	}
}

// readObject reads an object. The reader is at its opening brace. The last of several members with
// the same name wins.
func (r *jsonReader) readObject() (map[string]any, error) {
	firstName, first := len(r.names), len(r.values)
	err := r.readList('}', func() error {
		if r.skipSpace() != '"' {
			return errUnsupported
		}
		name, err := r.readString()
		if err != nil {
			return err
		}
		member := r.strings.Member(name)
		if r.skipSpace() != ':' {
			return errUnsupported
		}
		r.pos++
		r.names = append(r.names, member.Name)
		return r.pushValue(member)
	})
	if err != nil {
		return nil, err
	}
	object := make(map[string]any, len(r.values)-first)
	for i, value := range r.values[first:] {
		object[r.names[firstName+i]] = value
	}
	r.names, r.values = r.names[:firstName], r.values[:first]
	return object, nil
}

// readArray reads an array. The reader is at its opening bracket.
func (r *jsonReader) readArray(member *intern.Member) (any, error) {
	first := len(r.values)
	if err := r.readList(']', func() error { return r.pushValue(member) }); err != nil {
		return nil, err
	}
	array := append(make([]any, 0, len(r.values)-first), r.values[first:]...)
	r.values = r.values[:first]
	return array, nil
}

// pushValue reads a value and pushes it onto the stack.
func (r *jsonReader) pushValue(member *intern.Member) error {
	value, err := r.readValue(member)
	r.values = append(r.values, value)
	r.peak = max(r.peak, len(r.values))
	return err
}

// readList reads items separated by commas, up to a closing brace or bracket. The reader is at the
// opening one.
func (r *jsonReader) readList(closing byte, item func() error) error {
	if r.depth++; r.depth > maxDepth {
		return errUnsupported
	}
	r.pos++
	if r.skipSpace() == closing {
		r.pos++
		r.depth--
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch r.skipSpace() {
		case ',':
			r.pos++
		case closing:
			r.pos++
			r.depth--
			return nil
		default:
			return errUnsupported
		}
	}
}

// Check returns the error that Decode returns for raw, which must be an object in valid JSON. It
// builds nothing unless raw has a number that may be out of range.
func (j *JSON) Check(raw []byte) error {
	if !hasLargeNumber(raw) {
		return nil
	}
	_, err := j.Decode(raw)
	return err
}

// maxDigits is the length of a number without an exponent that every float64 can hold.
const maxDigits = 300

// hasLargeNumber reports whether valid JSON may have a number that is out of range.
func hasLargeNumber(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = stringEnd(raw, i)
		case c == '-' || '0' <= c && c <= '9':
			start, exponent := i, false
			for ; i < len(raw) && isNumberByte(raw[i]); i++ {
				exponent = exponent || raw[i] == 'e' || raw[i] == 'E'
			}
			if exponent || i-start > maxDigits {
				return true
			}
			i--
		}
	}
	return false
}

// stringEnd returns the index of the closing quote of the string whose opening quote is at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}
