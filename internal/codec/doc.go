// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package codec turns the bytes of API objects into objects and back: decoders that share equal
// parts, the packed form of a store's objects, and an object's metadata without the rest of it.
//
// An [ObjectType] says what the objects of a collection are, [Decoders] decodes them from both
// formats of the API, and a [Packer] keeps them as bytes. With ObjectType.Partial, the kept objects
// have some fields of those that the server sends: the decoders skip or cut the others. A
// [FieldIndex] reads one field of objects, and of their bytes.
//
// Packer and [IndexMetadata] read the parts of an item's bytes by the item's Layout, and parse the
// bytes if it is not known.
package codec
