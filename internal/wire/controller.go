package wire

import (
	"bytes"

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
	if i.Format != Protobuf {
		c.readJSON(i.members.at[memberMetadata].of(i.text))
	} else if err := c.readMessage(i.Raw); err != nil {
		return "", i.located(i.Offset, err)
	}
	return string(c.uid), nil
}

// controllerRef is the controller reference found so far. Its uid is part of the item.
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

// add adds an owner reference. The first controller among them counts.
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

// bool returns the value of a field that is one. The field is called name, should
// there be an error.
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

// readJSON reads metadata that the scanner has validated.
func (c *controllerRef) readJSON(metadata []byte) {
	for name, value := range jsonMembers(metadata) {
		if string(name) == "ownerReferences" {
			*c = controllerRef{} // the last ownerReferences counts
			for owner := range jsonElements(value) {
				c.readJSONOwner(owner)
			}
		}
	}
}

func (c *controllerRef) readJSONOwner(owner []byte) {
	var uid []byte
	controller := false
	for name, value := range jsonMembers(owner) {
		switch string(name) {
		case "uid":
			if value[0] == '"' {
				uid = unquote(value[1 : len(value)-1])
			}
		case "controller":
			switch value[0] {
			case 't', 'f':
				controller = value[0] == 't'
			}
		}
	}
	c.add(uid, controller)
}

// jsonMembers ranges over the members of an object that is known to be valid JSON:
// their names, unquoted, and their values. Of another value it finds none.
func jsonMembers(object []byte) func(yield func(name, value []byte) bool) {
	return func(yield func(name, value []byte) bool) {
		if len(object) == 0 || object[0] != '{' {
			return
		}
		for at := jsonNext(object, 1); at < len(object) && object[at] == '"'; {
			end := jsonEnd(object, at)
			name := unquote(object[at+1 : end-1])
			at = jsonNext(object, end)
			end = jsonEnd(object, at)
			if at >= end || !yield(name, object[at:end]) {
				return
			}
			at = jsonNext(object, end)
		}
	}
}

// jsonElements ranges over the elements of an array, as jsonMembers does.
func jsonElements(array []byte) func(yield func(value []byte) bool) {
	return func(yield func(value []byte) bool) {
		if len(array) == 0 || array[0] != '[' {
			return
		}
		for at := jsonNext(array, 1); at < len(array) && array[at] != ']'; {
			end := jsonEnd(array, at)
			if at >= end || !yield(array[at:end]) {
				return
			}
			at = jsonNext(array, end)
		}
	}
}

// jsonNext returns where the next value or closing bracket is.
func jsonNext(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
		default:
			return at
		}
	}
	return at
}

// jsonEnd returns where a value ends that begins at a place.
func jsonEnd(text []byte, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = jsonQuote(text, at+1)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return at // of a number, or such, that came before
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue // of a number, true, false or null
		}
		if depth == 0 {
			return min(at+1, len(text))
		}
	}
	return len(text)
}

// jsonQuote returns where the quote is that ends the string.
func jsonQuote(text []byte, at int) int {
	for at < len(text) {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			break
		}
		backslashes := 0
		for backslashes < n && text[at+n-1-backslashes] == '\\' {
			backslashes++
		}
		if at += n; backslashes%2 == 0 {
			return at
		}
		at++
	}
	return len(text)
}
