// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinformer/kinformer/internal/feed"
)

// equal reports whether the values of two references are equal. It decodes packed values only if
// their bytes differ, and decodes them anew, because a caller may have modified a shared decoded
// object. Values that cannot be decoded or compared are not equal.
func (s *Store[V]) equal(a, b *valueRef) bool {
	if s.config.Packer == nil {
		return equalValues(s.value(a), s.value(b))
	}
	if left, ok := s.unpackedValue(packedOf(a)); ok {
		right, ok := s.unpackedValue(packedOf(b))
		return ok && equalValues(left, right)
	}
	x, y := packedOf(a).object, packedOf(b).object
	left, err := x.Unpack(nil)
	if err != nil {
		return false
	}
	if right, err := y.Unpack(nil); err == nil && bytes.Equal(left, right) {
		return true
	}
	equal, err := feed.CatchPanic(func() (bool, error) {
		left, _, err := s.config.Packer.Unpack(x)
		if err != nil {
			return false, err
		}
		right, _, err := s.config.Packer.Unpack(y)
		return err == nil && equalValues(left, right), err
	})
	return err == nil && equal
}

// equalValues compares values as Kubernetes does: nil and empty are equal. The comparison panics on
// types with unexported fields that it does not know; such values are not equal.
func equalValues[V any](a, b V) bool {
	equal, err := feed.CatchPanic(func() (bool, error) { return equality.Semantic.DeepEqual(a, b), nil })
	return err == nil && equal
}
