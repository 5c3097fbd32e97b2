// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package codec encodes and decodes API objects, lists and watch events in the content types that
// the fake API server supports, JSON and protobuf. It uses client-go's own serializers, and it
// chooses the content type of an answer from the request's Accept header.
package codec
