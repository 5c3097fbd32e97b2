// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire splits the body of a Kubernetes LIST or WATCH response into objects while the body
// arrives. It buffers one object at a time and decodes only the fields that the caller asks for.
//
//	          ┌───────────────────────── List / Watch ─┐
//	          │           ┌─ protobuf: lengths ─┐      │
//	body ─────┼─▶ window ─┤                     ├──────┼─▶ Item / Event
//	          │           └─ JSON: scanner ─────┘      │   (valid during the callback)
//	          └────────────────────────────────────────┘
//
// # Terms
//
// A body is the payload of an HTTP response. A list is split into items, a watch into events, each
// with a type and an object. The bytes of an item are the same in a list and in a watch: in
// protobuf the bare message of the object's type without its envelope, in JSON the object from '{'
// to '}'. An envelope is the four bytes "k8s\x00" followed by a runtime.Unknown, which carries the
// apiVersion and kind of the message.
//
// # Validation
//
// The package checks what it needs to find the bounds of each object, and that all of the body
// arrived: it delivers an item only after its last byte. JSON is checked in full, against the
// grammar of encoding/json; in protobuf only the fields on the path to the objects are checked.
// Duplicate fields are resolved as the decoders of apimachinery do for Go types: in protobuf the
// last value wins and messages are merged; in JSON the last non-null value wins and objects are
// merged. For unstructured objects, see Item.HasDuplicates. JSON member names are case-sensitive.
//
// # Layout
//
// Item.Identify returns, with the identity of an object, where its metadata is. With this layout,
// which the caller keeps beside the bytes, Located reads the object's controller and kind later
// without parsing the bytes again. An object that has one of the parts twice has no layout, and a
// layout that does not fit its bytes is not used.
//
// # Lifetime
//
// An Item and its bytes belong to the reader's buffer and are valid until the callback returns. A
// caller that keeps the bytes must copy them (bytes.Clone). Strings are always copies. Those of the
// identities of a list's items share memory, up to 16 KB, which lives as long as one of them is
// kept.
//
// # Errors
//
// An error in a body is an *Error, which holds its position. A truncated body is
// io.ErrUnexpectedEOF, an oversized object is ErrTooLarge, and a Status in place of a list or watch
// is the *apierrors.StatusError it encodes; use errors.Is and errors.As. Errors of a callback are
// returned unchanged.
package wire
