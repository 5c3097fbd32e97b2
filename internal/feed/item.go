package feed

import "k8s.io/apimachinery/pkg/runtime"

// Item is one object on its way from the API server to a store: who it is, and
// either the object or its bytes.
//
// Key, UID and ResourceVersion are the server's, read before any transform had
// a chance to change them. UID and ResourceVersion may be empty: client-go's
// fake clientsets do not set them. Empty never means "unchanged".
type Item struct {
	Key             string // "namespace/name", or "name" of an object without namespace
	UID             string
	ResourceVersion string

	Object runtime.Object // nil where the item carries bytes
	Raw    []byte         // the object as it came; lent for the call, to be copied by who keeps it
	Codec  Codec          // decodes Raw
}

// Codec decodes the bytes of one kind of objects. Implementations are safe for
// use by several goroutines.
type Codec interface {
	Decode(raw []byte) (runtime.Object, error)
}

// ErrorCodec is a Codec that cannot decode anything. A source that has found an object's bytes
// to be malformed puts it in the Item, so that the sink reports the error for that object.
type ErrorCodec struct {
	Err error // returned by Decode
}

// Decode implements Codec. It returns c.Err.
func (c ErrorCodec) Decode([]byte) (runtime.Object, error) { return nil, c.Err }

// Decoded returns the item's object, decoding it if it came as bytes.
func (i Item) Decoded() (runtime.Object, error) {
	if i.Object != nil {
		return i.Object, nil
	}
	return i.Codec.Decode(i.Raw)
}

// SameVersion tells whether two sightings of a key are of the same object in
// the same version: both UIDs and both versions there, and equal.
func SameVersion(uid, resourceVersion, otherUID, otherResourceVersion string) bool {
	return uid != "" && resourceVersion != "" &&
		uid == otherUID && resourceVersion == otherResourceVersion
}
