// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/layout"
)

// Item is one object on its way from the API server to a store: its identity, and either the
// object or its bytes.
//
// Key, UID and ResourceVersion are those sent by the server, read before any transform runs. UID
// and ResourceVersion may be empty, as in objects of client-go's fake clientsets. An empty value
// never means "unchanged".
type Item struct {
	Key             string // "namespace/name", or "name" of a cluster-scoped object
	UID             string
	ResourceVersion string

	Object runtime.Object // nil if the item carries bytes
	Raw    []byte         // the object as received; valid only during the call
	Codec  Codec          // decodes Raw
	Layout layout.Object  // of Raw; zero if it is not known

	// Received is the object as the client has decoded it, of which Object may lack some fields. It
	// is valid only during the call.
	Received runtime.Object

	// InOrder means that the item is an event of a source that does not count versions: it is the
	// newest state of its object, whatever its ResourceVersion, which is not compared.
	InOrder bool
	// Unordered means that the item is an event of a collection whose own version is no number,
	// such as one that a proxy joins of several clusters. Its ResourceVersion is compared only with
	// that of the same object, by UID, and is not reached by the collection.
	Unordered bool
	// Repeated means that the item is an event of a version that the sink has, by its HasVersion.
	// The client has decoded it, and the sink applies it only if its content differs.
	Repeated bool
	// Known is the sink's own state of the object, as returned by Replacement.Needs. The item then
	// needs neither Object nor Raw.
	Known any
	// Borrowed means that Key, UID and ResourceVersion share memory with those of other items,
	// which lives as long as one of them is referenced. Call Owned before keeping one.
	Borrowed bool
}

// Owned returns the item with Key, UID and ResourceVersion copied into one allocation, if they are
// borrowed.
func (i Item) Owned() Item {
	if !i.Borrowed {
		return i
	}
	all := i.Key + i.UID + i.ResourceVersion
	uid := len(i.Key) + len(i.UID)
	i.Key, i.UID, i.ResourceVersion, i.Borrowed = all[:len(i.Key)], all[len(i.Key):uid], all[uid:], false
	return i
}

// Codec decodes the bytes of objects of one type. Implementations are safe for concurrent use.
type Codec interface {
	Decode(raw []byte) (runtime.Object, error)
}

// EditingCodec is a Codec of objects whose bytes are edited before they are decoded, such as to
// omit fields. Decode does both.
type EditingCodec interface {
	Codec
	// Edit appends the edited bytes of an item to dst and returns the item of the edited bytes, to
	// which the caller sets its Raw. If it returns false, the bytes cannot be edited, and the item
	// is returned as it is: only Decode can be used.
	Edit(dst []byte, item Item) (edited []byte, of Item, ok bool)
}

// Edited returns an item whose bytes are edited, if its codec edits them. The edited bytes are in
// the buffer, which the caller may use again for the next item.
func (i Item) Edited(buffer []byte) (Item, []byte) {
	codec, ok := i.Codec.(EditingCodec)
	if !ok || len(i.Raw) == 0 {
		return i, buffer
	}
	buffer, edited, ok := codec.Edit(buffer[:0], i)
	if ok {
		edited.Raw = buffer
	}
	return edited, buffer
}

// ErrorCodec is a Codec whose Decode always fails. A source that finds an object's bytes malformed
// sets it as the Item's Codec, so that the sink reports the error for that object.
type ErrorCodec struct {
	Err error // returned by Decode
}

// ErrNoName is wrapped by the error of an ErrorCodec if the object has no name. Objects of an API
// server have one, so that no stored object is such an item.
var ErrNoName = errors.New("metadata.name is empty")

// IsUnreadable reports whether the object cannot be read, nor perhaps its identity: Key and UID are
// set only if they are certain, and the Codec is an ErrorCodec.
func (i Item) IsUnreadable() bool {
	_, ok := i.Codec.(ErrorCodec)
	return ok
}

// Decode implements Codec. It returns c.Err.
func (c ErrorCodec) Decode([]byte) (runtime.Object, error) { return nil, c.Err }

var errNoContents = errors.New("the object's bytes are not there")

// Decoded returns the item's object, which it decodes if the item carries bytes. An item without an
// object and bytes is an error, and not an empty object.
func (i Item) Decoded() (runtime.Object, error) {
	if i.Object != nil {
		return i.Object, nil
	}
	if failed, ok := i.Codec.(ErrorCodec); ok {
		return nil, failed.Err
	}
	if len(i.Raw) == 0 {
		return nil, errNoContents
	}
	return i.Codec.Decode(i.Raw)
}

// IsDecoded reports whether the client has decoded the item's object, so that there are no bytes.
func (i Item) IsDecoded() bool { return i.Object != nil && len(i.Raw) == 0 }

// IsOlder reports whether a resourceVersion is known to be older than another.
func IsOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// HasName reports whether a key is that of an object with a name. Others may share a key.
func HasName(key string) bool { return key != "" && key[len(key)-1] != '/' }

// Reaches reports whether a resourceVersion is known to be equal to another, or newer.
func Reaches(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}

// SameVersion reports whether two states of a key are the same version of the same object: both
// have a UID and a resourceVersion, and these are equal.
func SameVersion(uid, resourceVersion, otherUID, otherResourceVersion string) bool {
	return uid != "" && resourceVersion != "" &&
		uid == otherUID && resourceVersion == otherResourceVersion
}
