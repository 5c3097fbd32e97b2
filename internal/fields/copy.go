// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// copyFunc copies a value, and all that it refers to, into a settable zero value.
type copyFunc func(to, from reflect.Value)

// Copy copies the fields of an API object into a struct, which share nothing afterwards. Both are
// pointers. It must not be called for unstructured objects.
func (p *Partial) Copy(to, object any) {
	p.copier()(reflect.ValueOf(to).Elem(), reflect.ValueOf(object).Elem())
}

// DeepCopy copies a struct into another one of its type, which share nothing afterwards. Both are
// pointers.
func DeepCopy[S any](to, from *S) {
	deepCopier(reflect.TypeFor[S]())(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

// deepCopier returns the function with which DeepCopy copies values of a type.
func deepCopier(t reflect.Type) copyFunc {
	known, ok := deepCopies.Load(t)
	if !ok {
		known, _ = deepCopies.LoadOrStore(t, newCopier().whole(t))
	}
	return known.(copyFunc)
}

// deepCopies are the copiers of DeepCopy by type.
var deepCopies sync.Map //nolint:gochecknoglobals // compiled once for each type

// copier compiles copyFuncs. A type may contain itself.
type copier struct {
	types   map[reflect.Type]*copyFunc
	structs map[[2]reflect.Type]*copyFunc // by the types of the program and of the API
}

func newCopier() *copier {
	return &copier{map[reflect.Type]*copyFunc{}, map[[2]reflect.Type]*copyFunc{}}
}

// whole returns the function that copies values of a type.
func (c *copier) whole(t reflect.Type) copyFunc {
	if !hasReferences(t) {
		return func(to, from reflect.Value) { to.Set(from) }
	}
	if known := c.types[t]; known != nil {
		return func(to, from reflect.Value) { (*known)(to, from) }
	}
	compiled := new(copyFunc)
	c.types[t] = compiled
	*compiled = c.compile(t)
	return *compiled
}

// compile is whole for a type with references that is not known.
func (c *copier) compile(t reflect.Type) copyFunc {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return func(to, from reflect.Value) {
			*to.Addr().Interface().(*resource.Quantity) = from.Interface().(resource.Quantity).DeepCopy()
		}
	case t.Kind() != reflect.Struct:
		return c.elementsOf(t, t, nil)
	}
	if copies, ok := deepCopyInto(t); ok {
		return func(to, from reflect.Value) {
			source := reflect.New(t)
			source.Elem().Set(from)
			copies.Func.Call([]reflect.Value{source, to.Addr()})
		}
	}
	fields := make([]copyFunc, t.NumField())
	for i := range fields {
		if field := t.Field(i); hasReferences(field.Type) {
			fields[i] = c.whole(field.Type)
		}
	}
	return func(to, from reflect.Value) {
		to.Set(from)
		for i, copies := range fields {
			if copies != nil {
				field := to.Field(i)
				field.SetZero()
				copies(field, from.Field(i))
			}
		}
	}
}

// deepCopyInto returns the method of a struct's pointer that deepcopy-gen has generated.
func deepCopyInto(t reflect.Type) (method reflect.Method, ok bool) {
	pointer := reflect.PointerTo(t)
	method, ok = pointer.MethodByName("DeepCopyInto")
	return method, ok && method.Type.NumIn() == 2 && method.Type.In(1) == pointer
}

// shallowIn returns a type of values in those of a type of which a copier would copy references
// only: an interface, or a struct with a field that is not exported. It returns nil if there is
// none.
func shallowIn(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] || !hasReferences(t) || t == reflect.TypeFor[resource.Quantity]() {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return shallowIn(t.Elem(), seen)
	case reflect.Struct:
	default:
		return t
	}
	if _, ok := deepCopyInto(t); ok {
		return nil
	}
	for field := range t.Fields() {
		if !field.IsExported() && hasReferences(field.Type) {
			return t
		}
		if shallow := shallowIn(field.Type, seen); shallow != nil {
			return shallow
		}
	}
	return nil
}

// hasReferences reports whether values of a type share memory, other than that of strings, with
// copies by assignment. A Time shares what never changes.
func hasReferences(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	case reflect.Array:
		return hasReferences(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[metav1.MicroTime]() {
			return false
		}
		for field := range t.Fields() {
			if hasReferences(field.Type) {
				return true
			}
		}
	default:
	}
	return false
}

// part returns the function that copies values at a node into a type from one of the API.
func (c *copier) part(to, from reflect.Type, n *Node) copyFunc {
	switch {
	case to == from:
		return c.whole(to)
	case to.Kind() == reflect.Pointer || to.Kind() == reflect.Slice || to.Kind() == reflect.Map:
		return c.elementsOf(to, from, n)
	case to.Kind() == reflect.Struct:
		return c.structOf(n)
	}
	return func(into, value reflect.Value) { into.Set(value.Convert(to)) }
}

// elementsOf is part for pointers, slices and maps. Nil stays nil, and empty stays empty.
func (c *copier) elementsOf(to, from reflect.Type, n *Node) copyFunc {
	switch to.Kind() {
	case reflect.Pointer:
		value := c.part(to.Elem(), from.Elem(), n)
		return func(into, pointer reflect.Value) {
			if !pointer.IsNil() {
				into.Set(reflect.New(to.Elem()))
				value(into.Elem(), pointer.Elem())
			}
		}
	case reflect.Slice:
		if to.Elem() == from.Elem() && !hasReferences(to.Elem()) { // such as bytes
			return func(into, list reflect.Value) {
				if !list.IsNil() {
					into.Set(reflect.MakeSlice(to, list.Len(), list.Len()))
					reflect.Copy(into, list)
				}
			}
		}
		element := c.part(to.Elem(), from.Elem(), n)
		return func(into, list reflect.Value) {
			if !list.IsNil() {
				into.Set(reflect.MakeSlice(to, list.Len(), list.Len()))
				for i := range list.Len() {
					element(into.Index(i), list.Index(i))
				}
			}
		}
	case reflect.Map:
		value := c.part(to.Elem(), from.Elem(), n)
		return func(into, entries reflect.Value) {
			if entries.IsNil() {
				return
			}
			into.Set(reflect.MakeMapWithSize(to, entries.Len()))
			for key, entry := range entries.Seq2() {
				copied := reflect.New(to.Elem()).Elem()
				value(copied, entry)
				into.SetMapIndex(key.Convert(to.Key()), copied)
			}
		}
	default: // an interface or array, which Resolve refuses
		return func(into, value reflect.Value) { into.Set(value) }
	}
}

// structOf returns the function that copies a struct with fewer fields than that of the API.
func (c *copier) structOf(n *Node) copyFunc {
	key := [2]reflect.Type{n.Own, n.Type}
	if known := c.structs[key]; known != nil {
		return func(to, from reflect.Value) { (*known)(to, from) }
	}
	compiled := new(copyFunc)
	c.structs[key] = compiled
	*compiled = c.fieldsOf(n, n.Own)
	return *compiled
}

// fieldsOf is structOf for a node whose fields are in a struct of the program: an inlined struct of
// the API has those of the struct around it.
func (c *copier) fieldsOf(n *Node, own reflect.Type) copyFunc {
	steps := make([]copyFunc, len(n.Children))
	for i, child := range n.Children {
		if child.Inline {
			inlined := c.fieldsOf(child, own)
			steps[i] = func(to, from reflect.Value) { inlined(to, from.Field(child.index)) }
			continue
		}
		copies := c.part(own.Field(child.OwnIndex).Type, child.Field.Type, child)
		steps[i] = func(to, from reflect.Value) { copies(to.Field(child.OwnIndex), from.Field(child.index)) }
	}
	return func(to, from reflect.Value) {
		for _, step := range steps {
			step(to, from)
		}
	}
}
