package cache

import "github.com/kinformer/kinformer/internal/source"

// Limits bound what an informer holds of a server's responses, in bytes: a server may be broken, or
// hostile. Zero, and every negative value, selects the default. What exceeds a limit is an error
// that names it, for instance "Limits.Object"; the store keeps its last good state.
//
// They hold where the informer streams, for the bytes as the transport returns them, decompressed.
// Where it does not (Status.Streaming), the client reads and decodes each response whole: client-go
// limits a watch event to 16 MiB, and a list or an error not at all. No limit holds for the number
// of objects. A decoded object takes more memory than its bytes, usually two to ten times as much;
// one that is made up for the purpose, of empty list elements, up to 500 times.
type Limits struct {
	// Object is the largest object, and the largest watch event. A larger object is not stored, and
	// is reported as an ObjectError, provided that its name is among the first 64 KiB in protobuf
	// and within the limit in JSON; otherwise the list fails, or the watch ends. The default is
	// 16 MiB, ten times etcd's limit.
	Object int
	// Header is the largest part of a response that is no object: the metadata of a list with its
	// continue token, a bookmark, an error. A larger error response is cut off, any other part
	// fails the list or ends the watch. The default is 1 MiB.
	Header int
	// InFlight is the size of the objects of a list that have been read and not stored yet, while
	// they are decoded on all processors. One object may exceed it. The default is 16 MiB.
	InFlight int
}

// ofSource returns the limits of a single response.
func (l Limits) ofSource() source.Limits {
	return source.Limits{Object: l.Object, Header: l.Header}
}
