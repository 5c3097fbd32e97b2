// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"math"
)

// JSONAllocates estimates the memory, in bytes, that a decoder allocates for valid JSON. largest is
// the LargestElement of the Go type, and 0 for unstructured objects. The estimate is only as exact
// as necessary to decide whether it exceeds limit.
//
// It counts values. An object or null may be an element of the largest struct; all other values are
// strings, numbers, times or the like. Four searches of the whole text give an upper bound of their
// number, in some 0.1 ns a byte. Only if the bound exceeds limit, the values outside of strings are
// counted.
func JSONAllocates(raw []byte, largest, limit int) int {
	object := max(largest, mapSize(16))
	estimate := func(objects, others int) int {
		n := int64(len(raw)) + int64(object)*int64(objects) + jsonScalarSize*int64(others)
		return int(min(n, math.MaxInt)) // an int may have 32 bits
	}
	objects := bytes.Count(raw, []byte{'{'}) + bytes.Count(raw, []byte("null"))
	others := bytes.Count(raw, []byte{','}) + bytes.Count(raw, []byte{'['})
	if n := estimate(objects, others); n <= limit {
		return n
	}
	objects, others = 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case '{', 'n':
			objects++
		case ',', '[':
			others++
		}
		if i&0xffff == 0 && estimate(objects, others) > limit {
			break
		}
	}
	return estimate(objects, others)
}
