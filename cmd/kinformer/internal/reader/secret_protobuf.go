// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import "github.com/kinformer/kinformer/internal/protowire"

// Fields of a Secret and of its parts in protobuf.
const (
	fieldMetadata    = 1  // of a Secret
	fieldData        = 2  // of a Secret
	fieldStringData  = 4  // of a Secret
	fieldAnnotations = 12 // of the metadata
	fieldMapValue    = 2  // of an entry of a map
)

// scrambleMessage replaces the values of an encoded Secret by random letters, in place.
func scrambleMessage(secret []byte) error {
	return eachField(secret, func(field int32, value []byte) error {
		switch field {
		case fieldMetadata:
			return eachField(value, func(field int32, value []byte) error {
				if field == fieldAnnotations {
					return scrambleEntry(value)
				}
				return nil
			})
		case fieldData, fieldStringData:
			return scrambleEntry(value)
		}
		return nil
	})
}

// scrambleEntry replaces the value of an entry of a map.
func scrambleEntry(entry []byte) error {
	return eachField(entry, func(field int32, value []byte) error {
		if field == fieldMapValue {
			fillText(value)
		}
		return nil
	})
}

// eachField calls f with every field of a message that consists of bytes.
func eachField(message []byte, f func(field int32, value []byte) error) error {
	for i := 0; i < len(message); {
		tag, start, err := protowire.Varint(message, i)
		if err != nil {
			return err
		}
		field, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return err
		}
		if i, err = protowire.Skip(message, start, wire); err != nil {
			return err
		}
		if wire != protowire.TypeBytes {
			continue
		}
		from, to, _ := protowire.Bounds(message, start) // valid, as Skip has read it
		if err := f(field, message[from:to]); err != nil {
			return err
		}
	}
	return nil
}
