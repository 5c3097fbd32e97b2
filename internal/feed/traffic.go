// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import "time"

// Traffic is what a source has requested, received and decoded since it was made.
type Traffic struct {
	Requests map[Request]uint64 // by verb and code
	Bytes    uint64             // of the responses that were split, after decompression
	Decoded  uint64             // objects decoded from bytes, packed ones included
	Decoding time.Duration      // that this took, on all processors together
}

// Request is a kind of request and its result.
type Request struct {
	Verb string // "LIST" or "WATCH"
	// Code is the HTTP status code, or "<error>" if there was no response, as in client-go's
	// metrics.
	Code string
}
