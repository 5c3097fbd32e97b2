// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"bytes"
	"encoding/binary"

	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/protowire"
)

// The fields of a map's entry.
const (
	entryKey   = 1
	entryValue = 2
)

// AppendProtobuf appends an encoded object without the fields to dst. It returns false, and dst
// with a part of the object, for an object that it cannot edit: the caller must decode it and call
// Without. Such an object is malformed, or has a form that no API server sends.
//
// The layout of the edited object is known if its metadata is first, as servers write it, and
// nothing before the end of the labels and owners was cut.
func (o *Omitted) AppendProtobuf(dst, object []byte, at layout.Object) (edited Edited, ok bool) {
	if o.protobufUnsupported {
		return Edited{Bytes: dst}, false
	}
	out, ok := o.root.appendMessage(dst, object)
	if ok {
		at = moveInProtobuf(at, object, out[len(dst):])
	}
	return Edited{out, at}, ok
}

// metadataTag is the tag of an object's metadata.
const metadataTag = 1<<3 | protowire.TypeBytes

// moveInProtobuf returns the layout of an edited object, zero if it is not known.
func moveInProtobuf(at layout.Object, object, edited []byte) layout.Object {
	if !at.Fits(object) || object[0] != metadataTag || len(edited) == 0 || edited[0] != metadataTag {
		return layout.Object{}
	}
	was, _, errWas := protowire.Bounds(object, 1)
	from, to, err := protowire.Bounds(edited, 1)
	if errWas != nil || err != nil || was != int(at.Metadata.Start) {
		return layout.Object{}
	}
	moved := layout.New(len(edited))
	moved.Metadata = layout.NewSpan(from, to)
	// The same fields are in the same bytes, so that all labels and owners that are left are among
	// them.
	n := int(max(at.Labels.End, at.Owners.End)) - was
	if n > to-from || n > 0 && !bytes.Equal(object[was:was+n], edited[from:from+n]) {
		return layout.Object{}
	}
	moved.Labels, moved.Owners = at.Labels.Move(from-was, from-was), at.Owners.Move(from-was, from-was)
	return moved
}

// byNumber returns the child with a field number in protobuf, or nil.
func (n *Node) byNumber(number int32) *Node {
	for _, child := range n.Children {
		if child.number == number {
			return child
		}
	}
	return nil
}

// appendMessage appends what is left of a message.
func (n *Node) appendMessage(dst, message []byte) (edited []byte, ok bool) {
	copied := 0 // the end of what was appended or cut
	for i := 0; i < len(message); {
		start := i
		tag, next, err := protowire.Varint(message, i)
		if err != nil {
			return dst, false
		}
		number, wire, err := protowire.SplitTag(tag)
		if err != nil {
			return dst, false
		}
		if i, err = protowire.Skip(message, next, wire); err != nil {
			return dst, false
		}
		child := n.byNumber(number)
		switch {
		case child == nil && n.keep:
			dst = append(dst, message[copied:start]...)
		case child == nil || child.whole:
			continue
		case child.omit != nil:
			dst = append(dst, message[copied:start]...)
		case wire != protowire.TypeBytes: // the decoder refuses it
			continue
		default:
			dst = append(dst, message[copied:start]...)
			if dst, ok = child.appendField(dst, message[start:i], next-start); !ok {
				return dst, false
			}
		}
		copied = i
	}
	return append(dst, message[copied:]...), true
}

// appendField appends what is left of a field. Its tag has a length of tagSize.
func (n *Node) appendField(dst, field []byte, tagSize int) (edited []byte, ok bool) {
	from, to, err := protowire.Bounds(field, tagSize)
	if err != nil {
		return dst, false
	}
	content := n
	if n.isMap {
		key, ok := keyOf(field[from:to])
		if !ok {
			return dst, false
		}
		switch child := n.child(string(key)); {
		case child == nil:
			return append(dst, field...), true
		case child.omit != nil:
			return dst, true
		default:
			content = child.entry
		}
	}
	begin := len(dst) + tagSize
	dst = append(dst, field[:from]...)
	if dst, ok = content.appendMessage(dst, field[from:to]); !ok {
		return dst, false
	}
	return shortenLength(dst, begin, from-tagSize, to-from), true
}

// shortenLength corrects the length prefix of the content that dst ends with. The prefix is at
// begin, has size bytes, and states the length that the content had before.
func shortenLength(dst []byte, begin, size, stated int) []byte {
	length := len(dst) - begin - size
	if length == stated {
		return dst
	}
	var encoded [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(encoded[:], uint64(length))
	copy(dst[begin+n:], dst[begin+size:])
	copy(dst[begin:], encoded[:n])
	return dst[:begin+n+length]
}

// keyOf returns the key of a map's entry. It returns false for an entry that a decoder may read in
// another way: generated code ignores wire types, and accepts parts that end after the entry.
func keyOf(entry []byte) (key []byte, ok bool) {
	for i := 0; i < len(entry); {
		tag, next, err := protowire.Varint(entry, i)
		if err != nil {
			return nil, false
		}
		number, wire := int32(tag>>3), int(tag&7)
		isPart := number == entryKey || number == entryValue
		if i, err = protowire.Skip(entry, next, wire); err != nil || isPart && wire != protowire.TypeBytes {
			return nil, false
		}
		if number == entryKey {
			from, to, _ := protowire.Bounds(entry, next)
			key = entry[from:to]
		}
	}
	return key, true
}
