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
	texts   *intern.JSONStrings
	readers sync.Pool // of *jsonReader
}

// NewJSON returns a decoder with empty tables. ShareEqual is of no consequence.
func NewJSON(options Options) *JSON {
	return &JSON{texts: intern.NewJSONStrings(options.room()), readers: sync.Pool{New: func() any { return &jsonReader{} }}}
}

// Decode decodes an object. It keeps nothing of raw.
func (j *JSON) Decode(raw []byte) (object map[string]any, err error) {
	r := j.readers.Get().(*jsonReader)
	defer j.readers.Put(r)
	if object, err = r.document(j.texts, raw); err == nil {
		return object, nil
	}
	object = nil
	err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
	return object, err
}

// Size returns how much the decoder's tables hold. It walks over all of them.
func (j *JSON) Size() intern.Size { return j.texts.Size() }

// errUnusual is anything that this reader does not read.
var errUnusual = errors.New("not read here")

const (
	maxDepth = 200
	// keepParts is how much room for parts a reader keeps; a huge object's is not.
	keepParts = 4096
)

// jsonReader reads one document. Parts of objects and arrays that are not finished are on
// stacks, so that a map or slice is made when its size is known.
type jsonReader struct {
	texts *intern.JSONStrings
	b     []byte
	i     int
	depth int

	names  []string // of the values of objects
	values []any
	high   int // the most values that there were, and so names
}

func (r *jsonReader) document(texts *intern.JSONStrings, raw []byte) (map[string]any, error) {
	r.texts, r.b, r.i, r.depth = texts, raw, 0, 0
	defer r.release()
	if r.space() != '{' {
		return nil, errUnusual
	}
	object, err := r.object()
	if err == nil && (r.space() != 0 || r.i < len(r.b)) {
		err = errUnusual
	}
	return object, err
}

// release forgets the document.
func (r *jsonReader) release() {
	r.texts, r.b = nil, nil
	clear(r.values[:r.high])
	clear(r.names[:min(r.high, cap(r.names))])
	r.names, r.values, r.high = r.names[:0], r.values[:0], 0
	if cap(r.values) > keepParts {
		r.names, r.values = nil, nil
	}
}

// space passes over white space and returns the byte behind it, 0 at the end.
func (r *jsonReader) space() byte {
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value reads a value, which a member's name stands for.
func (r *jsonReader) value(of *intern.Member) (any, error) {
	switch c := r.space(); c {
	case '{':
		return r.object()
	case '[':
		return r.array(of)
	case '"':
		content, err := r.text()
		if err != nil {
			return nil, err
		}
		return r.texts.Intern(content, of), nil
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	case 'n':
		return nil, r.literal("null")
	default:
		return r.number()
	}
}

// object reads an object, at whose brace the reader is. Of members with the same
// name the last one counts.
func (r *jsonReader) object() (map[string]any, error) {
	firstName, first := len(r.names), len(r.values)
	err := r.list('}', func() error {
		if r.space() != '"' {
			return errUnusual
		}
		name, err := r.text()
		if err != nil {
			return err
		}
		member := r.texts.Member(name)
		if r.space() != ':' {
			return errUnusual
		}
		r.i++
		r.names = append(r.names, member.Name)
		return r.push(member)
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
func (r *jsonReader) array(of *intern.Member) (any, error) {
	first := len(r.values)
	if err := r.list(']', func() error { return r.push(of) }); err != nil {
		return nil, err
	}
	array := append(make([]any, 0, len(r.values)-first), r.values[first:]...)
	r.values = r.values[:first]
	return array, nil
}

// push reads a value onto the stack.
func (r *jsonReader) push(of *intern.Member) error {
	value, err := r.value(of)
	r.values = append(r.values, value)
	r.high = max(r.high, len(r.values))
	return err
}

// list reads what stands between commas, up to a closing brace or bracket. The
// reader is at the opening one.
func (r *jsonReader) list(closing byte, item func() error) error {
	if r.depth++; r.depth > maxDepth {
		return errUnusual
	}
	r.i++
	if r.space() == closing {
		r.i++
		r.depth--
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch r.space() {
		case ',':
			r.i++
		case closing:
			r.i++
			r.depth--
			return nil
		default:
			return errUnusual
		}
	}
}

// text reads a string and returns its bytes, which are part of the document or, if
// there was something to unescape, new.
func (r *jsonReader) text() ([]byte, error) {
	start, ascii := r.i+1, true
	for i := start; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '"':
			r.i = i + 1
			if content := r.b[start:i]; ascii || utf8.Valid(content) {
				return content, nil
			}
			return nil, errUnusual
		case c == '\\':
			return r.escaped(start - 1)
		case c < ' ':
			return nil, errUnusual
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, errUnusual
}

// escaped reads a string in which something is escaped. It begins at start, with
// its quote.
func (r *jsonReader) escaped(start int) ([]byte, error) {
	for i := start + 1; i < len(r.b); i++ {
		switch r.b[i] {
		case '\\':
			i++
		case '"':
			r.i = i + 1
			var s string
			err := kjson.UnmarshalCaseSensitivePreserveInts(r.b[start:r.i], &s)
			return []byte(s), err
		}
	}
	return nil, errUnusual
}

// literal reads a word.
func (r *jsonReader) literal(word string) error {
	end := r.i + len(word)
	if end > len(r.b) || string(r.b[r.i:end]) != word {
		return errUnusual
	}
	r.i = end
	return nil
}

// number reads a number. Those of few digits are most.
func (r *jsonReader) number() (any, error) {
	start := r.i
	for r.i < len(r.b) && isOfNumber(r.b[r.i]) {
		r.i++
	}
	digits := r.b[start:r.i]
	if n := len(digits); n == 0 || n > 15 || digits[0] == '0' && n > 1 {
		return r.unusualNumber(digits)
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return r.unusualNumber(digits)
		}
		v = 10*v + int64(c-'0')
	}
	return v, nil
}

func isOfNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// unusualNumber reads any other number.
func (r *jsonReader) unusualNumber(digits []byte) (number any, err error) {
	if len(digits) == 0 {
		return nil, errUnusual
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(digits, &number)
	return number, err
}
