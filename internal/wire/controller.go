// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"io"

	"github.com/kinformer/kinformer/internal/protowire"
)

// Numbers of further fields.
const (
	fieldOwnerReferences = 13 // of ObjectMeta

	fieldOwnerUID        = 4 // of OwnerReference
	fieldOwnerController = 6
)

// ControllerUID returns the UID of the object's controller, the first owner reference whose
// controller field is true. It returns "" if the object has no controller.
//
// In JSON, a value of the wrong type counts as absent: decoding the object reports it.
func (i *Item) ControllerUID() (string, error) {
	var c controllerRef
	err := i.readController(&c)
	if err != nil && i.located.Length > 0 { // parsing finds out where the error is
		if err = i.complete(); err == nil {
			c = controllerRef{}
			err = i.readController(&c)
		}
	}
	if err != nil {
		return "", i.errorAt(i.Offset, err)
	}
	return string(c.uid), nil
}

// readController reads the owner references.
func (i *Item) readController(c *controllerRef) error {
	switch owners := i.members.at[memberOwnerReferences]; {
	case i.Format == Protobuf && i.located.Length > 0:
		return c.readMetadata(i.located.Owners.Of(i.Raw))
	case i.Format == Protobuf:
		return c.readMessage(i.Raw)
	case owners != (span{}):
		return c.readJSON(owners.of(i.text))
	}
	return nil
}

// controllerRef is the first controller among the owner references read so far. Its uid is part of
// the item.
type controllerRef struct {
	uid   []byte
	found bool
}

func (c *controllerRef) readMessage(object []byte) error {
	m := message{b: object}
	for m.next() {
		switch m.field {
		case fieldMetadata:
			metadata := m.value("metadata")
			m.fail("metadata", c.readMetadata(metadata))
		default:
			m.skip()
		}
	}
	return m.err
}

func (c *controllerRef) readMetadata(metadata []byte) error {
	m := message{b: metadata}
	for m.next() {
		switch m.field {
		case fieldOwnerReferences:
			owner := m.value("ownerReferences")
			uid, controller, err := readOwner(owner)
			m.fail("ownerReferences", err)
			c.add(uid, controller)
		default:
			m.skip()
		}
	}
	return m.err
}

// add considers an owner reference.
func (c *controllerRef) add(uid []byte, controller bool) {
	if controller && !c.found {
		c.uid, c.found = uid, true
	}
}

func readOwner(owner []byte) (uid []byte, controller bool, err error) {
	m := message{b: owner}
	for m.next() {
		switch m.field {
		case fieldOwnerUID:
			uid = m.value("uid")
		case fieldOwnerController:
			controller = m.bool("controller")
		default:
			m.skip()
		}
	}
	return uid, controller, m.err
}

// bool returns the value of a boolean field. An error names the field.
func (m *message) bool(name string) bool {
	if m.wire != protowire.TypeVarint {
		m.fail(name, protowire.ErrType(m.wire))
		return false
	}
	v, next, err := protowire.Varint(m.b, m.i)
	m.fail(name, err)
	m.i = next
	return v != 0
}

// readJSON reads the array of owner references, which the scanner has validated.
func (c *controllerRef) readJSON(owners []byte) error {
	r := jsonReader{window: &window{buf: owners, end: len(owners), limit: bound{bytes: len(owners)}, err: io.EOF}}
	return r.array(func() error {
		owner, err := r.value(depthMember, levelOwner)
		found := &r.scanner.members
		c.add(found.string(owner, memberUID), bytes.Equal(found.at[memberController].of(owner), []byte("true")))
		return err
	})
}
