package decode

import (
	"errors"
	"sync"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/intern"
)

// JSON decodes objects of any kind as apimachinery does: into maps, slices, strings,
// int64 where a number is one and has no point, float64 otherwise. Names of members
// are shared, and strings that come again; maps and slices never are. It is safe for
// concurrent use.
//
// It reads what API servers write. What is unusual or wrong it leaves to
// apimachinery's decoder, which then decides what that means.
type JSON struct {
	strings *intern.JSONStrings
	readers sync.Pool // of *jsonReader
}

// NewJSON returns a decoder with empty tables. ShareEqual is of no consequence.
func NewJSON(options Options) *JSON {
	return &JSON{strings: intern.NewJSONStrings(options.tableSize()), readers: sync.Pool{New: func() any { return &jsonReader{} }}}
}

// Decode decodes an object. It keeps nothing of raw.
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

// errUnusual is anything that this reader does not read.
var errUnsupported = errors.New("not read here")

const (
	maxDepth = 200
	// keepParts is how much room for parts a reader keeps; a huge object's is not.
	maxRetainedValues = 4096
)

// jsonReader reads one document. Parts of objects and arrays that are not finished are on
// stacks, so that a map or slice is made when its size is known.
type jsonReader struct {
	strings *intern.JSONStrings
	raw     []byte
	pos     int
	depth   int

	names  []string // of the values of objects
	values []any
	peak   int // the most values that there were, and so names
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

// release forgets the document.
func (r *jsonReader) reset() {
	r.strings, r.raw = nil, nil
	clear(r.values[:r.peak])
	clear(r.names[:min(r.peak, cap(r.names))])
	r.names, r.values, r.peak = r.names[:0], r.values[:0], 0
	if cap(r.values) > maxRetainedValues {
		r.names, r.values = nil, nil
	}
}

// space passes over white space and returns the byte behind it, 0 at the end.
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

// value reads a value, which a member's name stands for.
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

// object reads an object, at whose brace the reader is. Of members with the same
// name the last one counts.
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

// array reads an array, at whose bracket the reader is.
func (r *jsonReader) readArray(member *intern.Member) (any, error) {
	first := len(r.values)
	if err := r.readList(']', func() error { return r.pushValue(member) }); err != nil {
		return nil, err
	}
	array := append(make([]any, 0, len(r.values)-first), r.values[first:]...)
	r.values = r.values[:first]
	return array, nil
}

// push reads a value onto the stack.
func (r *jsonReader) pushValue(member *intern.Member) error {
	value, err := r.readValue(member)
	r.values = append(r.values, value)
	r.peak = max(r.peak, len(r.values))
	return err
}

// list reads what stands between commas, up to a closing brace or bracket. The
// reader is at the opening one.
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

// text reads a string and returns its bytes, which are part of the document or, if
// there was something to unescape, new.
func (r *jsonReader) readString() ([]byte, error) {
	start, ascii := r.pos+1, true
	for i := start; i < len(r.raw); i++ {
		switch c := r.raw[i]; {
		case c == '"':
			r.pos = i + 1
			if content := r.raw[start:i]; ascii || utf8.Valid(content) {
				return content, nil
			}
			return nil, errUnsupported
		case c == '\\':
			return r.readEscaped(start - 1)
		case c < ' ':
			return nil, errUnsupported
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, errUnsupported
}

// escaped reads a string in which something is escaped. It begins at start, with
// its quote.
func (r *jsonReader) readEscaped(start int) ([]byte, error) {
	for i := start + 1; i < len(r.raw); i++ {
		switch r.raw[i] {
		case '\\':
			i++
		case '"':
			r.pos = i + 1
			var s string
			err := kjson.UnmarshalCaseSensitivePreserveInts(r.raw[start:r.pos], &s)
			return []byte(s), err
		}
	}
	return nil, errUnsupported
}

// literal reads a word.
func (r *jsonReader) readLiteral(word string) error {
	end := r.pos + len(word)
	if end > len(r.raw) || string(r.raw[r.pos:end]) != word {
		return errUnsupported
	}
	r.pos = end
	return nil
}

// number reads a number. Those of few digits are most.
func (r *jsonReader) readNumber() (any, error) {
	start := r.pos
	for r.pos < len(r.raw) && isNumberByte(r.raw[r.pos]) {
		r.pos++
	}
	digits := r.raw[start:r.pos]
	if n := len(digits); n == 0 || n > 15 || digits[0] == '0' && n > 1 {
		return r.readOtherNumber(digits)
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return r.readOtherNumber(digits)
		}
		v = 10*v + int64(c-'0')
	}
	return v, nil
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// unusualNumber reads any other number.
func (r *jsonReader) readOtherNumber(digits []byte) (number any, err error) {
	if len(digits) == 0 {
		return nil, errUnsupported
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(digits, &number)
	return number, err
}
