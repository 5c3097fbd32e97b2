// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Field numbers. All types that an API server lists have metadata, as field 1.
const (
	fieldMetadata = 1 // of an object

	fieldName            = 1 // of ObjectMeta
	fieldNamespace       = 3
	fieldUID             = 5
	fieldResourceVersion = 6

	fieldMapKey   = 1 // of an entry of a map
	fieldMapValue = 2
)

// readMessage reads an object's identity. Duplicate metadata messages are merged: the last value of
// each field wins.
func (f *identity) readMessage(object []byte) error {
	m := message{b: object}
	for m.next() {
		switch m.field {
		case fieldMetadata:
			metadata := m.value("metadata")
			m.fail("metadata", f.readMetadata(metadata))
		default:
			m.skip()
		}
	}
	return m.err
}

func (f *identity) readMetadata(metadata []byte) error {
	m := message{b: metadata}
	for m.next() {
		switch m.field {
		case fieldName:
			f.name = m.value("name")
		case fieldNamespace:
			f.namespace = m.value("namespace")
		case fieldUID:
			f.uid = m.value("uid")
		case fieldResourceVersion:
			f.resourceVersion = m.value("resourceVersion")
		default:
			m.skip()
		}
	}
	return m.err
}

// messageMap returns a map of strings from an object's metadata, or nil if it has no entries.
func messageMap(object []byte, field metaField) (entries map[string]string, err error) {
	m := message{b: object}
	for m.next() {
		switch m.field {
		case fieldMetadata:
			metadata := m.value("metadata")
			entries, err = readMap(metadata, field, entries)
			m.fail("metadata", err)
		default:
			m.skip()
		}
	}
	return entries, m.err
}

// readMap adds the entries of a map in metadata to entries, which it returns.
func readMap(metadata []byte, field metaField, entries map[string]string) (map[string]string, error) {
	m := message{b: metadata}
	for m.next() {
		switch m.field {
		case int32(field):
			entry := m.value(field.String())
			key, value, err := readEntry(entry)
			m.fail(field.String(), err)
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
