// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package pack compresses the objects of a collection so that each can be decompressed on its own.
//
// Objects with the same owner, such as the Pods of a ReplicaSet, are nearly equal. The first is
// their base; the others are stored as deltas against the base. Bases, and objects without an
// owner, are encoded against a dictionary built from the first objects of the collection. The
// packer does not interpret the bytes: protobuf and JSON compress equally well.
//
//	Object ──▶ base ──▶ dictionary          object with an owner
//	Object ────────────▶ dictionary          object without an owner
//
// # Lifetime
//
// The arrows are pointers, and there are no others. Bases and dictionaries are immutable, and are
// garbage once no object refers to them. The table of bases by owner holds weak pointers. A new
// dictionary applies to objects packed from then on. Therefore no object is ever repacked because
// another object changed, and a collection whose owners change all the time takes no more memory
// than its current objects. The index of a dictionary is not part of it: a workspace builds one to
// pack a base or an object without an owner, and the garbage collector frees idle workspaces.
//
// # Updates
//
// The next state of an object is packed against the same base while that saves space, otherwise
// against the newest base of its owner, and otherwise becomes the newest base itself.
//
// # Excerpts
//
// One part of an object, such as its labels, can be read on its own: it is near the beginning, and
// the rest is not unpacked. Objects of one base that have the base's excerpt say so in a byte, and
// are one ExcerptGroup. A reader of many objects reads the excerpt of each group once.
//
// # Corruption
//
// Each object carries a checksum of its unpacked bytes, which a reader of an excerpt does not
// check. If the packed bytes, the base or the dictionary are damaged, or this package has a bug,
// Unpack returns an error and never another object.
package pack
