// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooLarge reports that an object exceeds Options.MaxItemSize, or another part of a body
// Options.MaxHeaderSize. The rest of the body is lost, except after an object with
// Options.SkipOversized.
var ErrTooLarge = errors.New("larger than allowed")

// Error is an error in a body, or in one item of it, and its position.
type Error struct {
	Body   string // what was read, such as "protobuf list"
	Offset int64  // the byte at which the error was found, in the body or in an item parsed on its own
	Item   int    // the index of the item or event, from 0; -1 if the error is in none
	Field  string // the path of the field, such as "metadata.name"; empty if unknown
	Err    error  // the cause
}

// Error returns the position and the cause in one line.
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

// element returns the noun for what Item counts.
func (e *Error) element() string {
	if strings.HasSuffix(e.Body, "watch") {
		return "event"
	}
	return "item"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fieldError is an error in a field. newError turns it into an *Error.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// inField adds field to the front of err's field path. It returns nil if err is nil.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*fieldError); ok {
		return &fieldError{field + "." + inner.field, inner.err}
	}
	return &fieldError{field, err}
}

// newError returns err as an *Error. It moves the path of a fieldError to Error.Field.
func newError(body string, offset int64, item int, err error) error {
	e := &Error{Body: body, Offset: offset, Item: item, Err: err}
	if inner, ok := err.(*fieldError); ok {
		e.Field, e.Err = inner.field, inner.err
	}
	return e
}

// maxQuoted is the maximum number of bytes that an error quotes of what the server sent.
const maxQuoted = 100

// Quote returns the beginning of a string for an error, in quotes.
func Quote(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q...", s[:maxQuoted])
	}
	return fmt.Sprintf("%q", s)
}

// beginning names the first byte of unexpected input, enough to recognize HTML. More of it might be
// the content of an object, which must not be in an error.
func beginning(b []byte) string { return fmt.Sprintf("begins with %q", b[0]) }
