// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package partial reads some fields of API objects into structs of the program, whose json tags
// name the fields:
//
//	type podFields struct {
//		Spec struct {
//			NodeName   string `json:"nodeName"`
//			Containers []struct{ Image string `json:"image"` } `json:"containers"`
//		} `json:"spec"`
//	}
//
// [Resolve] finds each field of the struct in the API type once, and checks that their types fit.
// All readers follow the resulting tree of [Struct]:
//
//	protobuf ──▶ a plan of package decode, which skips other fields; an API type without a plan is
//	             decoded whole, and its fields are copied
//	JSON     ──▶ package omit cuts other members, and the rest is decoded
//	objects  ──▶ [Fields.Copy]
//
// Their results are equal.
package partial
