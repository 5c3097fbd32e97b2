// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"encoding/binary"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tags of length-delimited fields.
const (
	tag1 = 1<<3 | 2
	tag2 = 2<<3 | 2

	tagListItem = tag2
)

const (
	// magic precedes every protobuf body of an API server, and every object in a watch frame.
	magic = "k8s\x00"
	// closing is the end of an envelope (runtime.Unknown): empty content encoding and content type.
	closing = "\x1a\x00\x22\x00"
)

// protobufListStart returns the body of a list before its items, which have the given size.
func protobufListStart(kind metav1.TypeMeta, meta metav1.ListMeta, itemsSize int64) ([]byte, error) {
	encoded, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	head := appendField(nil, tag1, encoded)
	return append(opening(kind, int64(len(head))+itemsSize), head...), nil
}

// AppendItem appends an item of a protobuf list to dst.
func AppendItem(dst, object []byte) []byte { return appendField(dst, tagListItem, object) }

// ItemSize returns the size of an item in a protobuf list.
func ItemSize(object []byte) int64 {
	length := binary.AppendUvarint(nil, uint64(len(object)))
	return int64(1 + len(length) + len(object))
}

// opening returns the start of an envelope around an object of the given size.
func opening(kind metav1.TypeMeta, size int64) []byte {
	typeMeta := appendField(appendField(nil, tag1, []byte(kind.APIVersion)), tag2, []byte(kind.Kind))
	start := append([]byte(magic), appendField(nil, tag1, typeMeta)...)
	return binary.AppendUvarint(append(start, tag2), uint64(size))
}

// protobufFrame returns the length of an event, and the event.
func protobufFrame(eventType string, kind metav1.TypeMeta, object []byte) []byte {
	enclosed := append(append(opening(kind, int64(len(object))), object...), closing...)
	event := appendField(nil, tag1, []byte(eventType))
	event = appendField(event, tag2, appendField(nil, tag1, enclosed))
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(event)), uint32(len(event))), event...)
}

func appendField(dst []byte, tag byte, content []byte) []byte {
	return append(binary.AppendUvarint(append(dst, tag), uint64(len(content))), content...)
}
