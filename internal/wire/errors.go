package wire

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooLarge is the cause when an object is larger than Options.MaxItemSize.
// A larger one may be allowed; the body is otherwise lost from there on.
var ErrTooLarge = errors.New("larger than allowed")

// Error says what is wrong with a body, or with an item of it, and where.
type Error struct {
	Body   string // what was read, as "protobuf list"
	Offset int64  // byte of the body (of the item, if an item alone was read) up to which all was well
	Item   int    // index of the item or event concerned, from 0; -1 if none is
	Field  string // path of the field concerned, as "metadata.name"; empty if none is
	Err    error  // the cause
}

// Error returns one line with everything that is known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("wire: " + e.Body)
	if e.Item >= 0 {
		fmt.Fprintf(&b, ", %s %d", e.element(), e.Item)
	}
	fmt.Fprintf(&b, ", byte %d", e.Offset)
	if e.Field != "" {
		b.WriteString(", " + e.Field)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// element is what Item counts.
func (e *Error) element() string {
	if strings.HasSuffix(e.Body, "watch") {
		return "event"
	}
	return "item"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fieldError is an error on its way up to where the body is known.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// inField names the field in which err occurred. Outer fields are added last.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*fieldError); ok {
		return &fieldError{field + "." + inner.field, inner.err}
	}
	return &fieldError{field, err}
}

// located makes err an *Error, taking the field out of it.
func located(body string, offset int64, item int, err error) error {
	e := &Error{Body: body, Offset: offset, Item: item, Err: err}
	if inner, ok := err.(*fieldError); ok {
		e.Field, e.Err = inner.field, inner.err
	}
	return e
}

// excerptLength is the most bytes that are quoted in an error.
const excerptLength = 32

// excerpt quotes the beginning of what was found instead of what was expected:
// an HTML page in the place of a list is recognised by it.
func excerpt(b []byte) string {
	if len(b) > excerptLength {
		return fmt.Sprintf("%q...", b[:excerptLength])
	}
	return fmt.Sprintf("%q", b)
}
