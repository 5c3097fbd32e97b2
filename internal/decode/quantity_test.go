// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestMergedQuantityIsNotCached merges an encoding without a value into a Quantity, which leaves
// the Quantity unchanged. The result must not be cached as the value of that encoding.
func TestMergedQuantityIsNotCached(t *testing.T) {
	divisor := func(b []byte) []byte { return bytesField(3, b) }
	nothing := varintField(9, 1) // an unknown field
	decoders := newDecoders(t, reflect.TypeFor[corev1.ResourceFieldSelector]())
	for _, q := range []string{"1", "2"} {
		checkDecode(t, join(divisor(bytesField(1, []byte(q))), divisor(nothing)), 1, decoders...)
	}
	checkDecode(t, divisor(nothing), 1, decoders...)
}
