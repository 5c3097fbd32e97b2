package store

import (
	"reflect"
	"unsafe"
)

// face is what the map keeps beside a key, so that Get finds the value without
// another step: the object itself where V is a pointer and the store is live, a
// box with the value where V is anything else, a packed where the store packs.
// Which of them is the same for all entries of a store, and only this file knows
// how to tell. A face is never looked into: its type is smaller than anything that
// it may stand for, and the garbage collector goes by the memory, not by the type.
type valueRef struct{ _ byte }

// pointers tells whether a value of type V is a pointer, and so its own face.
func isPointer[V any]() bool { return reflect.TypeFor[V]().Kind() == reflect.Pointer }

// faceOf returns the face of a live value.
func (s *Store[V]) refOf(value V) *valueRef {
	if s.valuesArePointers {
		return *(**valueRef)(unsafe.Pointer(&value)) //nolint:gosec // V is a pointer
	}
	return box(value)
}

// boxed is for values that are not pointers. It is apart so that those which are
// need not be moved to the heap.
//
//go:noinline
func box[V any](value V) *valueRef { return (*valueRef)(unsafe.Pointer(&value)) } //nolint:gosec // unboxed knows

// value returns the live value that faceOf made a face of.
func (s *Store[V]) value(f *valueRef) V {
	if s.valuesArePointers {
		return *(*V)(unsafe.Pointer(&f)) //nolint:gosec // V is a pointer
	}
	return *(*V)(unsafe.Pointer(f)) //nolint:gosec // made by boxed
}

// pointee returns what a value points to, nil if it does not, or to something else than
// all others.
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

// pointed returns the value that pointee took apart.
func (s *Store[V]) fromPointee(f *valueRef) V {
	if s.valuesArePointers {
		return s.value(f)
	}
	return reflect.NewAt(s.config.PointerType.Elem(), unsafe.Pointer(f)).Interface().(V) //nolint:gosec // made by pointee
}

func (p *packed) ref() *valueRef { return (*valueRef)(unsafe.Pointer(p)) } //nolint:gosec // packedOf knows

// packedOf returns what a face stands for in a store that packs.
func packedOf(f *valueRef) *packed { return (*packed)(unsafe.Pointer(f)) } //nolint:gosec // made by packed.face
