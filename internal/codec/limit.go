// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/decode"
)

// The default of DecodedLimit: decodedFactor times the length of an object's bytes, within
// minDecoded and maxDecoded.
const (
	minDecoded = 4 << 20
	maxDecoded = 512 << 20
	// decodedFactor is at least four times the largest estimate for legitimate objects, relative to
	// their bytes; TestEstimatesOfLegitimateObjects checks that. It is worstGrowth, so that objects
	// of most types need no estimate up to 1 MiB, which would take a quarter as long as decoding.
	decodedFactor = worstGrowth
)

// ErrDecoded is wrapped by the error of an object that would allocate too much. It names the limit.
var ErrDecoded = errors.New("would allocate more than Limits.Decoded")

// DecodedLimit bounds the memory, in bytes, that decoding one object allocates. The memory is
// estimated before the object is decoded.
type DecodedLimit struct {
	enabled bool
	bytes   int // 0 or less for the default
}

// NewDecodedLimit returns a limit. Zero or less selects the default. The zero DecodedLimit sets no
// limit.
func NewDecodedLimit(bytes int) DecodedLimit { return DecodedLimit{true, bytes} }

// of returns the limit for an object of length bytes.
func (l DecodedLimit) of(length int) int {
	if l.bytes > 0 {
		return l.bytes
	}
	return int(min(max(minDecoded, decodedFactor*int64(length)), maxDecoded))
}

// memoryCheck refuses objects of a type whose decoding would allocate too much.
type memoryCheck struct {
	limit   DecodedLimit
	largest int // decode.LargestElement of the Go type; 0 for unstructured objects
}

func newMemoryCheck(objects ObjectType, limit DecodedLimit) memoryCheck {
	if objects.IsUnstructured() && objects.Partial == nil {
		return memoryCheck{limit, 0}
	}
	return memoryCheck{limit, decode.LargestElement(objects.KeptType().Elem())}
}

// worstGrowth is about the most memory, in bytes, that one byte of an object allocates unless the
// Go type has large elements: two bytes can allocate the first entry of a map, about 1 kB.
const worstGrowth = 512

// run returns an error if an object may not be decoded. allocates estimates its memory; run
// does not call it for an object that is small enough in any case.
func (m memoryCheck) run(raw []byte, allocates func(limit int) int) error {
	if !m.limit.enabled {
		return nil
	}
	limit := m.limit.of(len(raw))
	if int64(len(raw))*int64(max(worstGrowth, m.largest/2)) <= int64(limit) { // an element takes two bytes or more
		return nil
	}
	if n := allocates(limit); n > limit {
		return fmt.Errorf("decode %d bytes: %w, %d bytes", len(raw), ErrDecoded, limit)
	}
	return nil
}
