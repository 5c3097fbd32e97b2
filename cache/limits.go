// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

// Limits bound the size of objects and responses, in bytes, against a broken or hostile server.
// Zero, and every negative value, selects the default. If a limit is exceeded, the error names it,
// for instance "Limits.Object", and the store keeps its last good state.
//
// Limits apply while the informer streams (Status.Streaming), to the decompressed bytes. Otherwise
// the client reads and decodes each response as a whole: client-go limits a watch event to 16 MiB,
// and a list or an error not at all. The number of objects is not limited, and each takes at least
// the size of its Go struct, such as 1 kB: two million Pods of 80 bytes take 4.6 GB.
type Limits struct {
	// Object is the largest object, and the largest watch event. A larger object is not stored, and
	// is reported as an ObjectError, provided that its name is among the first 64 KiB in protobuf
	// and within the limit in JSON; otherwise the list fails, or the watch ends. The default is
	// 16 MiB, ten times etcd's limit.
	Object int
	// Header is the largest part of a response that is not an object: the metadata of a list with
	// its continue token, a bookmark, an error, or white space. A larger error response is cut off;
	// any other larger part fails the list or ends the watch. The default is 1 MiB.
	Header int
	// InFlight is the total size of the objects of a list that have been read and not stored yet,
	// because they are being decoded in parallel. A single object may exceed it. In addition, a relist
	// keeps up to as many bytes of the eight newest unchanged objects, to compare their contents. The
	// default is 16 MiB.
	InFlight int
	// Decoded is the memory that decoding one object may allocate. It is estimated from the bytes
	// before they are decoded, also for objects that are Packed. An object that would allocate more
	// is not stored, and is reported as an ObjectError. Decoding usually allocates two to ten times
	// the object's bytes, up to a hundred times for objects of many small elements, and about 500
	// times for hostile ones. The default is 512 times the object's bytes, at least 4 MiB and at most
	// 512 MiB: it refuses hostile objects of more than 1 MiB, and smaller ones whose Go type has
	// larger elements than those of the API.
	Decoded int
}
