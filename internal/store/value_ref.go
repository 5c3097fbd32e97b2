// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinformer/kinformer/internal/feed"
)

// valueRef stands for an entry's value in the map, so that Get reaches the value without a further
// indirection. A *valueRef points to
//
//   - the object itself, if V is a pointer type and the store does not pack,
//   - a heap copy of the value, if V is any other type and the store does not pack,
//   - a packed, if the store packs.
//
// The case is the same for all entries of a store, and only this file converts between them. A
// valueRef is never dereferenced. Its type is smaller than any memory it may point to, and the
// garbage collector follows the allocated memory, not the pointer's type.
type valueRef struct{ _ byte }

// isPointer reports whether V is a pointer type.
func isPointer[V any]() bool { return reflect.TypeFor[V]().Kind() == reflect.Pointer }

// refOf returns the reference of a value that is not packed.
func (s *Store[V]) refOf(value V) *valueRef {
	if s.valuesArePointers {
		return *(**valueRef)(unsafe.Pointer(&value)) //nolint:gosec // V is a pointer
	}
	return box(value)
}

// box copies a value that is not a pointer to the heap. It is a function of its own so that refOf
// does not move pointers to the heap.
//
//go:noinline
func box[V any](value V) *valueRef { return (*valueRef)(unsafe.Pointer(&value)) } //nolint:gosec // Store.value converts it back

// value returns the value of a reference returned by refOf.
func (s *Store[V]) value(ref *valueRef) V {
	if s.valuesArePointers {
		return *(*V)(unsafe.Pointer(&ref)) //nolint:gosec // V is a pointer
	}
	return *(*V)(unsafe.Pointer(ref)) //nolint:gosec // made by box
}

// pointee returns a reference to the object that value points to, or nil if value is not a pointer
// of the type that the store's values share.
func (s *Store[V]) pointee(value V) *valueRef {
	if s.valuesArePointers {
		return s.refOf(value)
	}
	if s.config.PointerType == nil {
		return nil
	}
	if v := reflect.ValueOf(value); v.IsValid() && v.Type() == s.config.PointerType {
		return (*valueRef)(v.UnsafePointer())
	}
	return nil
}

// fromPointee returns the value of a reference returned by pointee.
func (s *Store[V]) fromPointee(ref *valueRef) V {
	if s.valuesArePointers {
		return s.value(ref)
	}
	return reflect.NewAt(s.config.PointerType.Elem(), unsafe.Pointer(ref)).Interface().(V) //nolint:gosec // made by pointee
}

func (p *packed) ref() *valueRef { return (*valueRef)(unsafe.Pointer(p)) } //nolint:gosec // packedOf converts it back

// packedOf returns the packed value of a reference, in a store that packs.
func packedOf(ref *valueRef) *packed { return (*packed)(unsafe.Pointer(ref)) } //nolint:gosec // made by packed.ref

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
