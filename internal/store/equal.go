// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinformer/kinformer/internal/feed"
)

// equal reports whether the values of two references are equal. Values that cannot be decoded or
// compared are not equal.
func (s *Store[V]) equal(a, b *valueRef) bool {
	equal, err := s.compareValues(a, b)
	return err == nil && equal
}

// compareValues reports whether the values of two references are equal. It decodes packed values only
// if their bytes differ, and decodes them anew, because a caller may have modified a shared decoded
// object. It returns an error if the values cannot be decoded or compared.
func (s *Store[V]) compareValues(a, b *valueRef) (equal bool, err error) {
	if s.config.Packer == nil {
		return equalValues(s.value(a), s.value(b))
	}
	if left, ok := s.unpackedValue(packedOf(a)); ok {
		right, ok := s.unpackedValue(packedOf(b))
		if !ok {
			return false, nil
		}
		return equalValues(left, right)
	}
	x, y := packedOf(a).object, packedOf(b).object
	left, err := x.Unpack(nil)
	if err != nil {
		return false, err
	}
	if right, err := y.Unpack(nil); err == nil && bytes.Equal(left, right) {
		return true, nil
	}
	return feed.CatchPanic(func() (bool, error) {
		left, _, err := s.config.Packer.Unpack(x)
		if err != nil {
			return false, err
		}
		right, _, err := s.config.Packer.Unpack(y)
		if err != nil {
			return false, err
		}
		return equalValues(left, right)
	})
}

// equalValues compares values as Kubernetes does: nil and empty are equal. The comparison panics on
// types with unexported fields that it does not know, which is an error here.
func equalValues[V any](a, b V) (bool, error) {
	return feed.CatchPanic(func() (bool, error) { return equality.Semantic.DeepEqual(a, b), nil })
}
