// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/json"
)

// The nesting depth of values in a list.
const (
	depthMember = 1
	depthItem   = 2
)

// jsonList splits a list in JSON. The members may come in any order: a list of custom resources has
// kind and metadata after the items.
type jsonList struct {
	listSplitter
	jsonReader
	sawItems     bool   // the "items" member has been read
	otherMembers []byte // the other members, in case the body turns out to be a Status
}

func (l *jsonList) split(header *ListHeader) error {
	l.jsonReader.window = &l.splitter.window
	defer func() { *header = l.header }()
	if err := l.openBody(); err != nil {
		return err
	}
	l.otherMembers = append(l.otherMembers, '{')
	if err := l.object(l.readMember); err != nil {
		return err
	}
	if err := l.endOfBody(); err != nil {
		return err
	}
	return l.finish()
}

// openBody advances to the '{' of the body.
func (l *jsonList) openBody() error {
	c, err := l.peek()
	if err == io.ErrUnexpectedEOF {
		return fmt.Errorf("empty body: %w", err)
	}
	if err == nil && c != '{' {
		return fmt.Errorf("%s, want an object", beginning(l.unread()))
	}
	return err
}

func (l *jsonList) endOfBody() error {
	end, err := l.atEnd()
	if err != nil || end {
		return err
	}
	return unexpected(l.unread()[0], "the end of the body")
}

// finish checks the list after its last byte.
func (l *jsonList) finish() error {
	switch {
	case l.header.Kind == "Status":
		return statusError(append(l.otherMembers, '}'), JSON)
	case !l.sawItems:
		return fmt.Errorf("%w %s: no items", ErrWrongKind, Quote(l.header.Kind))
	}
	return l.listSplitter.finish()
}

// readMember reads the value of a member of the list.
func (l *jsonList) readMember(name string) error {
	if name == "items" && l.header.Kind != "Status" {
		return l.readItems()
	}
	value, err := l.headerValue()
	if err != nil {
		return inField(nameOf(name), err)
	}
	switch name {
	case "kind":
		err = json.Unmarshal(value, &l.header.Kind)
	case "apiVersion":
		err = json.Unmarshal(value, &l.header.APIVersion)
	case "metadata":
		err = json.Unmarshal(value, &l.header.Meta)
	}
	if err != nil {
		return inField(name, err)
	}
	if l.header.Kind == "Table" {
		return fmt.Errorf("%w %q, want a list", ErrWrongKind, l.header.Kind)
	}
	return l.keepForStatus(name, value)
}

// nameOf returns the name of a member of a list for an error. Other names than those of a list or
// Status may be the content of an object.
func nameOf(member string) string {
	switch member {
	case "kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code":
		return member
	}
	return "another member"
}

// keepForStatus keeps a member as long as the body may be a Status.
func (l *jsonList) keepForStatus(name string, value []byte) error {
	if l.header.Kind != "" && l.header.Kind != "Status" {
		return nil
	}
	if err := l.headerLimit.check(int64(len(l.otherMembers) + len(name) + len(value))); err != nil {
		return err
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return err
	}
	if len(l.otherMembers) > 1 {
		l.otherMembers = append(l.otherMembers, ',')
	}
	l.otherMembers = append(append(l.otherMembers, quoted...), ':')
	l.otherMembers = append(l.otherMembers, value...)
	return nil
}

// readItems reads the value of the "items" member.
func (l *jsonList) readItems() error {
	if l.sawItems {
		return inField("items", errors.New("duplicate member"))
	}
	l.sawItems = true
	c, err := l.peek()
	if err != nil {
		return inField("items", err)
	}
	if c == 'n' {
		_, err = l.headerValue()
		return inField("items", err)
	}
	if c != '[' {
		return inField("items", unexpected(c, "an array"))
	}
	if err := l.array(l.readItem); err != nil {
		return err
	}
	l.item = -1
	return nil
}

// readItem reads one item and delivers it.
func (l *jsonList) readItem() error {
	l.item++
	c, err := l.peek()
	if err != nil {
		return err
	}
	offset, level := l.offset(), levelOther
	if c == '{' {
		level = levelObject
	}
	raw, err := l.value(depthItem, level)
	l.current.Offset = offset
	if isSkippable(err) && l.options.SkipOversized {
		return l.skipOversized(err)
	}
	if err != nil {
		return err
	}
	if c != '{' {
		return l.deliverMalformed(unexpected(c, "an object"))
	}
	l.setObject(&l.current, raw, raw)
	return l.deliver()
}

// notObject returns the error for a value that begins with c in place of an object. If err is not
// nil, it returns err.
func notObject(c byte, err error) error {
	if err != nil {
		return err
	}
	return unexpected(c, "an object")
}
