// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package fields finds fields of API objects by their names in JSON, and leaves them out, or reads
// them alone.
//
// Fields are named by paths such as "spec.containers.env" (path.go), or by the json tags of a
// struct of the program:
//
//	type podFields struct {
//		Spec struct {
//			NodeName   string `json:"nodeName"`
//			Containers []struct{ Image string `json:"image"` } `json:"containers"`
//		} `json:"spec"`
//	}
//
// Both are resolved once against the Go type of the objects, into a tree of [Node] (node.go). It is
// executed by:
//
//	              protobuf         JSON         decoded objects
//	[Omitted]     AppendProtobuf   AppendJSON   Without
//	[Partial]     package decode   AppendJSON   Copy
//
// In each row the results are equal: edited bytes decode to the object that Without returns for the
// decoded original.
//
// [Omit] returns the fields at paths. [Keep] cuts all other fields beside metadata out of the bytes
// of objects of which the program keeps a [Partial]: the rest of the JSON is decoded into its
// struct. In protobuf, an API type without a plan in package decode is decoded whole, and its
// fields are copied.
//
// # What is left
//
// An omitted field has its zero value, or is absent from an unstructured object. A list on the way
// keeps its elements, and a pointer to a struct on the way is not nil. A map with omitted keys is
// nil, or absent, if no key is left, whether or not it had one: protobuf has no empty maps.
//
// What is omitted is not checked: bytes that a decoder would refuse are no error if they are cut
// out.
package fields
