// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"io"
)

// jsonReader reads JSON from a window.
type jsonReader struct {
	*window
	scanner scanner

	apiVersion, kind string // of the last object, reused if the next one has the same
}

// peek skips white space, no more than Limits.Other, and returns the next byte without consuming
// it. It releases the held bytes. At the end of the body it returns io.ErrUnexpectedEOF.
func (r *jsonReader) peek() (byte, error) {
	begin := r.offset()
	for {
		for ; r.pos < r.end; r.pos++ {
			switch c := r.buf[r.pos]; c {
			case ' ', '\n', '\t', '\r':
			default:
				r.release()
				return c, nil
			}
		}
		r.release()
		if err := r.headerLimit.check(r.offset() - begin); err != nil {
			return 0, fmt.Errorf("white space: %w", err)
		}
		if err := r.fill(); err != nil {
			return 0, noEOF(err)
		}
	}
}

// take consumes the next byte, which must be c.
func (r *jsonReader) take(c byte, name string) error {
	got, err := r.peek()
	if err != nil {
		return err
	}
	if got != c {
		return unexpected(got, name)
	}
	r.pos++
	return nil
}

// value reads a value at a nesting depth of the document. It returns the bytes of the value, which
// are valid until the next read.
func (r *jsonReader) value(depth int, level objectLevel) ([]byte, error) {
	if _, err := r.peek(); err != nil {
		return nil, err
	}
	r.scanner.start(depth, level)
	for {
		done, err := r.scanner.scan(r.buf[r.mark:r.end])
		r.pos = r.mark + r.scanner.i
		if err != nil {
			return nil, err
		}
		if r.scanner.i > r.limit.bytes {
			return nil, r.tooLarge(int64(r.scanner.i))
		}
		if done {
			return r.buf[r.mark:r.pos:r.pos], nil
		}
		if err := r.fill(); err != nil {
			return nil, noEOF(err)
		}
	}
}

// isSkippable reports whether an error of value concerns that value alone, whose rest can be
// skipped: it is too large, or nested too deeply.
func isSkippable(err error) bool { return errors.Is(err, ErrTooLarge) || errors.Is(err, errDepth) }

// headerValue is value for a member of the outermost object, or its name.
func (r *jsonReader) headerValue() ([]byte, error) {
	object := r.limit
	r.limit = r.headerLimit
	value, err := r.value(depthMember, levelOther)
	r.limit = object
	return value, err
}

// object reads an object and calls member after the name of each member. member must read the
// value.
func (r *jsonReader) object(member func(name string) error) error {
	if err := r.take('{', "an object"); err != nil {
		return err
	}
	return r.elements('}', func() error {
		if c, err := r.peek(); err != nil || c != '"' {
			return notName(c, err)
		}
		quoted, err := r.headerValue()
		if err != nil {
			return err
		}
		name := string(unquote(quoted[1 : len(quoted)-1]))
		if err := r.take(':', "':'"); err != nil {
			return err
		}
		return member(name)
	})
}

// array reads an array and calls element for each element. element must read it.
func (r *jsonReader) array(element func() error) error {
	if err := r.take('[', "an array"); err != nil {
		return err
	}
	return r.elements(']', element)
}

// elements calls element for each comma-separated element up to the closing byte.
func (r *jsonReader) elements(closing byte, element func() error) error {
	c, err := r.peek()
	if err != nil {
		return err
	}
	if c == closing {
		r.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		c, err := r.peek()
		if err != nil {
			return err
		}
		if c != ',' && c != closing {
			return unexpected(c, "',' or '"+string(closing)+"'")
		}
		r.pos++
		if c == closing {
			return nil
		}
	}
}

// notName returns the error for a member name that begins with c. If err is not nil, it returns
// err.
func notName(c byte, err error) error {
	if err != nil {
		return err
	}
	return unexpected(c, "a member name")
}

// setObject sets item to the object that the scanner has just read. raw is the object, text the
// scanned text that contains it.
func (r *jsonReader) setObject(item *Item, raw, text []byte) {
	item.Raw, item.text = raw, text
	item.members = r.scanner.members
	r.apiVersion = reuse(r.apiVersion, item.members.string(text, memberAPIVersion))
	r.kind = reuse(r.kind, item.members.string(text, memberKind))
	item.APIVersion, item.Kind = r.apiVersion, r.kind
}

// reuse returns b as a string. It returns last if they are equal, which saves an allocation.
func reuse(last string, b []byte) string {
	if last == string(b) {
		return last
	}
	return string(b)
}

// atEnd skips white space and reports whether the body ends there.
func (r *jsonReader) atEnd() (bool, error) {
	_, err := r.peek()
	if err == io.ErrUnexpectedEOF && r.err == io.EOF {
		return true, nil
	}
	return false, err
}
