// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/kinformer/kinformer/internal/layout"

// Field numbers. All types that an API server lists have metadata, as field 1.
const (
	fieldMetadata = 1 // of an object

	fieldName            = 1 // of ObjectMeta
	fieldNamespace       = 3
	fieldUID             = 5
	fieldResourceVersion = 6
	fieldLabels          = 11
	fieldAnnotations     = 12

	fieldMapKey   = 1 // of an entry of a map
	fieldMapValue = 2
)

// readMessage reads an object's identity. Duplicate metadata messages are merged: the last value of
// each field wins. The layout is zero then. If metadata is malformed, the identity is zero, too.
func (f *identity) readMessage(object []byte) (layout.Object, error) {
	at := layout.New(len(object))
	m := message{b: object}
	for m.next() {
		switch m.field {
		case fieldMetadata:
			metadata := m.value("metadata")
			if !at.Metadata.IsZero() {
				at.Length = 0
			}
			begin := m.i - len(metadata)
			at.Metadata = layout.NewSpan(begin, m.i)
			labels, owners, err := f.readMetadata(metadata)
			at.Labels, at.Owners = labels.Move(begin, begin), owners.Move(begin, begin)
			if m.fail("metadata", err); err != nil {
				*f = identity{}
			}
		default:
			m.skip()
		}
	}
	if at.Length == 0 {
		return layout.Object{}, m.err
	}
	return at, m.err
}

// readMetadata returns the places of the labels and of the owner references in metadata.
func (f *identity) readMetadata(metadata []byte) (labels, owners layout.Span, err error) {
	m := message{b: metadata}
	for begin := 0; m.next(); begin = m.i {
		switch m.field {
		case fieldName:
			f.name = m.value("name")
		case fieldNamespace:
			f.namespace = m.value("namespace")
		case fieldUID:
			f.uid = m.value("uid")
		case fieldResourceVersion:
			f.resourceVersion = m.value("resourceVersion")
		case fieldLabels:
			m.skip()
			labels = labels.Extended(begin, m.i)
		case fieldOwnerReferences:
			m.skip()
			owners = owners.Extended(begin, m.i)
		default:
			m.skip()
		}
	}
	return labels, owners, m.err
}

// messageAnnotations returns an object's annotations, or nil if it has none.
func messageAnnotations(object []byte) (annotations map[string]string, err error) {
	m := message{b: object}
	for m.next() {
		switch m.field {
		case fieldMetadata:
			metadata := m.value("metadata")
			annotations, err = readMap(metadata, fieldAnnotations, "annotations", annotations)
			m.fail("metadata", err)
		default:
			m.skip()
		}
	}
	return annotations, m.err
}

// readMap adds the entries of a map in metadata to entries, which it returns.
func readMap(metadata []byte, field int32, name string, entries map[string]string) (map[string]string, error) {
	m := message{b: metadata}
	for m.next() {
		switch m.field {
		case field:
			entry := m.value(name)
			key, value, err := readEntry(entry)
			m.fail(name, err)
			if entries == nil {
				entries = make(map[string]string)
			}
			entries[string(key)] = string(value)
		default:
			m.skip()
		}
	}
	return entries, m.err
}

func readEntry(entry []byte) (key, value []byte, err error) {
	m := message{b: entry}
	for m.next() {
		switch m.field {
		case fieldMapKey:
			key = m.value("key")
		case fieldMapValue:
			value = m.value("value")
		default:
			m.skip()
		}
	}
	return key, value, m.err
}
