// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package omit leaves fields out of API objects: it cuts them out of the objects' bytes, in
// protobuf and in JSON, and clears them in decoded objects.
//
// [New] resolves paths against the Go type of the objects. Cutting and clearing have the same
// result: the bytes that [Fields.AppendProtobuf] or [Fields.AppendJSON] returns decode to the
// object that [Fields.Without] returns for the decoded original.
//
// [NewKeeping] lists what is left instead, for objects of which the program keeps some fields: all
// other fields beside metadata are cut out of the bytes. It clears nothing in decoded objects, of
// which package partial copies the fields.
//
// # What is left
//
// An omitted field has its zero value, or is absent from an unstructured object. A list on the way
// keeps its elements, and a pointer to a struct on the way is not nil. A map with omitted keys is
// nil, or absent, if no key is left, whether or not it had one: protobuf has no empty maps.
//
// What is omitted is not checked: bytes that a decoder would refuse are no error if they are cut
// out.
package omit
