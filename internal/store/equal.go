package store

import (
	"bytes"

	"k8s.io/apimachinery/pkg/api/equality"
)

// equal tells whether the values behind two faces are equal. It decodes packed ones only
// if their bytes differ, and does not take what somebody holds of them, who may have
// changed it. What cannot be decoded, or compared, is not equal.
func (s *Store[V]) equal(a, b *valueRef) bool {
	if s.config.Packer == nil {
		return equalValues(s.value(a), s.value(b))
	}
	x, y := packedOf(a).object, packedOf(b).object
	left, err := x.Unpack(nil)
	if err != nil {
		return false
	}
	if right, err := y.Unpack(nil); err == nil && bytes.Equal(left, right) {
		return true
	}
	equal, err := guard(func() (bool, error) {
		left, err := s.config.Packer.Unpack(x)
		if err != nil {
			return false, err
		}
		right, err := s.config.Packer.Unpack(y)
		return err == nil && equalValues(left, right), err
	})
	return err == nil && equal
}

// equalValues compares as Kubernetes does: nil and empty are equal. Of types with
// unexported fields it knows the usual ones; others it panics on.
func equalValues[V any](a, b V) bool {
	equal, err := guard(func() (bool, error) { return equality.Semantic.DeepEqual(a, b), nil })
	return err == nil && equal
}
