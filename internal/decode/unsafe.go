// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// All unsafe code of the package is in this file.

// addr is the address of a value inside an object that is being decoded. Its user must know the
// value's type. For fields, the plan has it from reflection:
//
//   - An addr starts as a pointer returned by reflect.New or reflect.MakeSlice for a type, and
//     moves only by offsets and sizes that reflection reports for that type. It therefore never
//     leaves its allocation.
//   - A write has the memory layout of the value: a string if the field's kind is String, whatever
//     its type is named, and a slice header if it is Slice. Named types have the layout of their
//     underlying types.
//   - Pointers are written as unsafe.Pointer, string, slice or map, never as integers, so the
//     garbage collector sees them.
//   - A map with keys of kind String and values of a known type is created and filled as
//     map[string]T. Map types that differ only in the names of their key and value types have the
//     same layout, hash and equality. Reflection handles all other maps.
//
// The race detector and checkptr see all of these accesses.
type addr struct{ p unsafe.Pointer }

// newAddr returns the address of a new zero value.
func newAddr(t reflect.Type) addr { return addr{reflect.New(t).UnsafePointer()} }

// addrOf returns the address that a pointer holds.
func addrOf(pointer reflect.Value) addr { return addr{pointer.UnsafePointer()} }

// add returns the address offset bytes further.
func (a addr) add(offset uintptr) addr { return addr{unsafe.Add(a.p, offset)} }

// pointerTo returns a pointer to the value of type t at a.
func (a addr) pointerTo(t reflect.Type) reflect.Value { return reflect.NewAt(t, a.p) }

// deref returns the address in the pointer at a. It reports whether the pointer is not nil.
func (a addr) deref() (to addr, ok bool) {
	p := *(*unsafe.Pointer)(a.p)
	return addr{p}, p != nil
}

// setPointer sets the pointer at a.
func (a addr) setPointer(to addr) { *(*unsafe.Pointer)(a.p) = to.p }

func (a addr) string() *string   { return (*string)(a.p) }
func (a addr) bytes() *[]byte    { return (*[]byte)(a.p) }
func (a addr) bool() *bool       { return (*bool)(a.p) }
func (a addr) int32() *int32     { return (*int32)(a.p) }
func (a addr) int64() *int64     { return (*int64)(a.p) }
func (a addr) bools() *[]bool    { return (*[]bool)(a.p) }
func (a addr) int32s() *[]int32  { return (*[]int32)(a.p) }
func (a addr) int64s() *[]int64  { return (*[]int64)(a.p) }
func (a addr) stringP() **string { return (**string)(a.p) }
func (a addr) boolP() **bool     { return (**bool)(a.p) }
func (a addr) int32P() **int32   { return (**int32)(a.p) }
func (a addr) int64P() **int64   { return (**int64)(a.p) }

func (a addr) stringMap() *map[string]string { return (*map[string]string)(a.p) }
func (a addr) bytesMap() *map[string][]byte  { return (*map[string][]byte)(a.p) }
func (a addr) quantityMap() *map[string]resource.Quantity {
	return (*map[string]resource.Quantity)(a.p)
}

// sliceHeader is the memory layout of a slice.
type sliceHeader struct {
	first    unsafe.Pointer
	len, cap int
}

func (a addr) sliceHeader() *sliceHeader { return (*sliceHeader)(a.p) }

// ref is a pointer, a map, or a slice without its capacity: a value that objects can share.
type ref struct {
	p   unsafe.Pointer
	len int // for slices
}

// ref returns the pointer or map at a.
func (a addr) ref() ref { return ref{p: *(*unsafe.Pointer)(a.p)} }

// setRef sets the pointer or map at a.
func (a addr) setRef(r ref) { *(*unsafe.Pointer)(a.p) = r.p }

// sliceRef returns the slice at a.
func (a addr) sliceRef() ref { return ref{a.sliceHeader().first, a.sliceHeader().len} }

// setSliceRef sets the slice at a, without spare capacity.
func (a addr) setSliceRef(r ref) { *a.sliceHeader() = sliceHeader{r.p, r.len, r.len} }

// isNil reports whether the pointer, map or slice at a is nil.
func (a addr) isNil() bool { return *(*unsafe.Pointer)(a.p) == nil }

// extend appends n zero elements to the slice at a and returns the address of the first. The slice
// has no spare capacity, so that append never writes into memory that other objects share, unless
// it had elements before: such a slice is never shared (see errMerge), and doubles, so that a field
// that occurs a million times is not copied as often.
func (a addr) extend(e *elementType, n int) addr {
	s := a.sliceHeader()
	if s.len == 0 {
		*s = sliceHeader{e.newArray(n).p, n, n}
		return addr{s.first}
	}
	if s.len+n > s.cap {
		capacity := max(s.len+n, 2*s.cap)
		grown := sliceHeader{e.newArray(capacity).p, s.len, capacity}
		sliceType := reflect.SliceOf(e.goType)
		reflect.Copy(reflect.NewAt(sliceType, unsafe.Pointer(&grown)).Elem(), reflect.NewAt(sliceType, a.p).Elem())
		*s = grown
	}
	added := addr{s.first}.add(uintptr(s.len) * e.size)
	s.len += n
	return added
}

// elementType is the type of the elements of a slice.
type elementType struct {
	goType reflect.Type
	size   uintptr
	arrays atomic.Pointer[arrayTypes] // nil until a slice has several elements
}

// arrayTypes are the types of arrays of 0, 1, 2... elements, nil until first used: reflection keeps
// half a kilobyte for each. Allocating one avoids the slice header that reflect.MakeSlice allocates
// besides the elements.
type arrayTypes [9]atomic.Pointer[reflect.Type]

func newElementType(t reflect.Type) *elementType {
	return &elementType{goType: t, size: t.Size()}
}

// arrayOf returns the type of an array of n elements, or nil if n is too large.
func (e *elementType) arrayOf(n int) reflect.Type {
	if n == 1 {
		return e.goType // has the layout of an array of one
	}
	if n >= len(arrayTypes{}) {
		return nil
	}
	arrays := e.arrays.Load()
	if arrays == nil {
		e.arrays.CompareAndSwap(nil, new(arrayTypes))
		arrays = e.arrays.Load()
	}
	array := arrays[n].Load()
	if array == nil {
		array = new(reflect.ArrayOf(n, e.goType))
		arrays[n].Store(array)
	}
	return *array
}

// newArray allocates n elements.
func (e *elementType) newArray(n int) addr {
	if array := e.arrayOf(n); array != nil {
		return newAddr(array)
	}
	return addrOf(reflect.MakeSlice(reflect.SliceOf(e.goType), n, n))
}

// quantityPointerOffset returns the offset of the pointer through which copies of a Quantity share
// memory. The pointer is nil if the number fits into an int64.
func quantityPointerOffset() (offset uintptr, ok bool) {
	field, ok := reflect.TypeFor[resource.Quantity]().FieldByName("d")
	if !ok || field.Type.Kind() != reflect.Struct || field.Type.NumField() != 1 || field.Type.Field(0).Type.Kind() != reflect.Pointer {
		return 0, false
	}
	return field.Offset, true
}

// isCopyable reports whether copies of a Quantity share no memory. The offset is that of
// quantityPointerOffset.
func isCopyable(q *resource.Quantity, offset uintptr) bool {
	return addr{unsafe.Pointer(q)}.add(offset).isNil()
}
