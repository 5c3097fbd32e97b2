package decode

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// All of this package that the compiler cannot check is in this file.
//
// A place is the address of a value inside an object that is being decoded. Who
// uses one vouches for the type that is there; for fields the plan does, which has
// it from reflection:
//
//   - A place is made of a pointer that reflect.New or reflect.MakeSlice returned
//     for a type, and moved only by the offsets and sizes that reflection gives for
//     that type. So it never leaves its allocation.
//   - What is written has the memory layout of what is there: a string where the
//     field's kind is String, whatever the type is called; a slice header where it
//     is Slice. Named types have the layout of what they are made of.
//   - Pointers are written as unsafe.Pointer, string, slice or map, never as
//     numbers. So the garbage collector sees each of them.
//   - A map whose key's kind is String and whose value has a known type is made
//     and filled as map[string]thatType. Types of maps that differ in the names of
//     their parts alone have the same layout, hash and equality; ones of which
//     that is not known are left to reflection.
//
// The race detector and checkptr see all of these accesses.
type addr struct{ p unsafe.Pointer }

// newPlace returns the place of a new zero value.
func newAddr(t reflect.Type) addr { return addr{reflect.New(t).UnsafePointer()} }

// placeOf returns where a pointer points to.
func addrOf(pointer reflect.Value) addr { return addr{pointer.UnsafePointer()} }

// at returns a place so many bytes on.
func (a addr) add(offset uintptr) addr { return addr{unsafe.Add(a.p, offset)} }

// as returns a pointer to the value of type t that is there.
func (a addr) pointerTo(t reflect.Type) reflect.Value { return reflect.NewAt(t, a.p) }

// deref returns what the pointer there points to.
func (a addr) deref() (to addr, ok bool) {
	p := *(*unsafe.Pointer)(a.p)
	return addr{p}, p != nil
}

// point makes the pointer there point to another place.
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

// slice is what a slice is in memory.
type sliceHeader struct {
	first    unsafe.Pointer
	len, cap int
}

func (a addr) sliceHeader() *sliceHeader { return (*sliceHeader)(a.p) }

// word is a slice without its capacity, a pointer or a map: all that a field can
// share with that of another object.
type ref struct {
	p   unsafe.Pointer
	len int // of a slice
}

// reference returns the pointer or map that is there.
func (a addr) ref() ref { return ref{p: *(*unsafe.Pointer)(a.p)} }

// refer makes the pointer or map there another.
func (a addr) setRef(w ref) { *(*unsafe.Pointer)(a.p) = w.p }

// view returns the slice that is there.
func (a addr) sliceRef() ref { return ref{a.sliceHeader().first, a.sliceHeader().len} }

// setView makes the slice there another, without room to append to.
func (a addr) setSliceRef(w ref) { *a.sliceHeader() = sliceHeader{w.p, w.len, w.len} }

// isNil tells whether the pointer, map or slice there is nil.
func (a addr) isNil() bool { return *(*unsafe.Pointer)(a.p) == nil }

// extend makes a slice n elements longer and returns the place of the first of
// them. There is no room left behind them: what is full is never written into
// again, so that slices can be shared.
func (a addr) extend(e *elementType, n int) addr {
	s := a.sliceHeader()
	first := e.newArray(s.len + n)
	if s.len > 0 {
		old := reflect.NewAt(e.sliceType, a.p).Elem()
		header := sliceHeader{first.p, s.len + n, s.len + n}
		reflect.Copy(reflect.NewAt(e.sliceType, unsafe.Pointer(&header)).Elem(), old)
	}
	added := first.add(uintptr(s.len) * e.size)
	*s = sliceHeader{first.p, s.len + n, s.len + n}
	return added
}

// element is the type of a slice's elements.
type elementType struct {
	size      uintptr
	sliceType reflect.Type
	// arrays are the types of arrays of 0, 1, 2... elements: one is made without
	// the slice header that reflect.MakeSlice allocates beside the elements.
	arrays [9]reflect.Type
}

func newElementType(sliceType reflect.Type) *elementType {
	e := &elementType{size: sliceType.Elem().Size(), sliceType: sliceType}
	for n := range e.arrays {
		e.arrays[n] = reflect.ArrayOf(n, sliceType.Elem())
	}
	e.arrays[1] = sliceType.Elem() // the same in memory, and reflection knows the pointer to it
	return e
}

// make makes room for n elements.
func (e *elementType) newArray(n int) addr {
	if n < len(e.arrays) {
		return newAddr(e.arrays[n])
	}
	return addrOf(reflect.MakeSlice(e.sliceType, n, n))
}

// quantityPointer is the offset of the pointer in a Quantity that makes copies of it
// share memory: nil but for numbers that do not fit into an int64.
func quantityPointerOffset() (offset uintptr, ok bool) {
	field, ok := reflect.TypeFor[resource.Quantity]().FieldByName("d")
	if !ok || field.Type.Kind() != reflect.Struct || field.Type.NumField() != 1 || field.Type.Field(0).Type.Kind() != reflect.Pointer {
		return 0, false
	}
	return field.Offset, true
}

// isPlain tells whether a Quantity can be copied, offset being quantityPointer's.
func isCopyable(q *resource.Quantity, offset uintptr) bool {
	return addr{unsafe.Pointer(q)}.add(offset).isNil()
}
