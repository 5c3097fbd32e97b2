// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// encodeUnstructured returns an object in JSON that decodes to an equal object: int64 to int64,
// float64 to float64. A value that JSON cannot carry in that sense is an error that names its
// field.
func encodeUnstructured(u *unstructured.Unstructured) ([]byte, error) {
	e := jsonEncoder{}
	if err := e.object(u.Object); err != nil {
		return nil, err
	}
	return e.buf, nil
}

// jsonEncoder appends values to buf.
type jsonEncoder struct {
	buf   []byte
	depth int
}

// maxDepth is the maximum nesting depth of JSON. It ends the encoding of a value that contains
// itself.
const maxDepth = 10000

var (
	errNoKind    = errors.New("missing")
	errNilValue  = errors.New("a nil map or slice would become null")
	errNotFinite = errors.New("not a finite number")
	errDepth     = fmt.Errorf("nested deeper than %d levels", maxDepth)
	errNotUTF8   = errors.New("not valid UTF-8")
)

func (e *jsonEncoder) value(v any) error {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case int64:
		e.buf = strconv.AppendInt(e.buf, v, 10)
	case float64:
		return e.float(v)
	case string:
		return e.string(v)
	case map[string]any:
		return e.object(v)
	case []any:
		return e.array(v)
	default:
		return fmt.Errorf("the decoder does not return a %T; use int64, float64, map[string]any or []any", v)
	}
	return nil
}

// float appends a number with a decimal point or an exponent, without which it would be an integer.
func (e *jsonEncoder) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errNotFinite
	}
	start := len(e.buf)
	e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
	if !strings.ContainsAny(string(e.buf[start:]), ".e") {
		e.buf = append(e.buf, ".0"...)
	}
	return nil
}

func (e *jsonEncoder) string(s string) error {
	if isPlain(s) {
		e.buf = append(append(append(e.buf, '"'), s...), '"')
		return nil
	}
	if !utf8.ValidString(s) {
		return errNotUTF8
	}
	quoted, err := json.Marshal(s)
	e.buf = append(e.buf, quoted...)
	return err
}

// isPlain reports whether a string needs no escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// object appends a map with sorted names, so that equal objects have equal bytes.
func (e *jsonEncoder) object(object map[string]any) error {
	if object == nil {
		return errNilValue
	}
	return e.nested('{', '}', func() error {
		for i, name := range slices.Sorted(maps.Keys(object)) {
			if i > 0 {
				e.buf = append(e.buf, ',')
			}
			if err := e.string(name); err != nil {
				return err
			}
			e.buf = append(e.buf, ':')
			if err := e.value(object[name]); err != nil {
				return inField(name, err)
			}
		}
		return nil
	})
}

func (e *jsonEncoder) array(array []any) error {
	if array == nil {
		return errNilValue
	}
	return e.nested('[', ']', func() error {
		for i, v := range array {
			if i > 0 {
				e.buf = append(e.buf, ',')
			}
			if err := e.value(v); err != nil {
				return inField("["+strconv.Itoa(i)+"]", err)
			}
		}
		return nil
	})
}

// nested calls elements between an opening and a closing byte.
func (e *jsonEncoder) nested(opening, closing byte, elements func() error) error {
	if e.depth++; e.depth > maxDepth {
		return errDepth
	}
	e.buf = append(e.buf, opening)
	err := elements()
	e.buf = append(e.buf, closing)
	e.depth--
	return err
}

// fieldError is an error in a field.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// maxPath is the maximum length of a field path, to which an error of a value that contains itself
// would grow.
const maxPath = 256

// inField adds a field to the front of err's path.
func inField(field string, err error) error {
	inner, ok := errors.AsType[*fieldError](err)
	switch {
	case !ok:
		return &fieldError{field, err}
	case len(inner.path) > maxPath:
		inner.path = inner.path[:maxPath] + "..."
	}
	separator := "."
	if strings.HasPrefix(inner.path, "[") {
		separator = ""
	}
	return &fieldError{field + separator + inner.path, inner.err}
}
