// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import "github.com/kinformer/kinformer/internal/source"

// Limits bound the size of objects and responses, in bytes, against a broken or hostile server.
// Zero, and every negative value, selects the default. If a limit is exceeded, the error names it,
// for instance "Limits.Object", and the store keeps its last good state.
//
// Limits apply while the informer streams (Status.Streaming), to the decompressed bytes. Otherwise
// the client reads and decodes each response as a whole: client-go limits a watch event to 16 MiB,
// and a list or an error not at all. The number of objects is not limited. A decoded object takes
// more memory than its bytes, usually two to ten times as much; a hostile one, of empty list
// elements, up to 500 times.
type Limits struct {
	// Object is the largest object, and the largest watch event. A larger object is not stored, and
	// is reported as an ObjectError, provided that its name is among the first 64 KiB in protobuf
	// and within the limit in JSON; otherwise the list fails, or the watch ends. The default is
	// 16 MiB, ten times etcd's limit.
	Object int
	// Header is the largest part of a response that is not an object: the metadata of a list with
	// its continue token, a bookmark, or an error. A larger error response is cut off; any other
	// larger part fails the list or ends the watch. The default is 1 MiB.
	Header int
	// InFlight is the total size of the objects of a list that have been read and not stored yet,
	// because they are being decoded in parallel. A single object may exceed it. The default is
	// 16 MiB.
	InFlight int
}

// ofSource returns the limits of a single response.
func (l Limits) ofSource() source.Limits {
	return source.Limits{Object: l.Object, Header: l.Header}
}
