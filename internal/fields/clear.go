// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Without returns obj without the fields. It does not modify obj: where something is omitted, the
// result is a copy along the path, and shares the rest with obj. Without fields, it returns obj.
func (o *Omitted) Without(obj runtime.Object) runtime.Object {
	if o == nil {
		return obj
	}
	if u, ok := obj.(runtime.Unstructured); ok {
		return o.root.clearUnstructured(u)
	}
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != o.root.Type {
		return obj // of another type, which the store refuses
	}
	if cleared, changed := o.root.clear(v); changed {
		return cleared.Interface().(runtime.Object)
	}
	return obj
}

// clear returns a value without the omitted parts, and whether it is another one.
func (n *Node) clear(v reflect.Value) (left reflect.Value, changed bool) {
	if len(n.Children) == 0 {
		return v, false
	}
	switch v.Kind() {
	case reflect.Pointer:
		return n.clearPointer(v)
	case reflect.Struct:
		return n.clearFields(v)
	case reflect.Slice:
		return n.clearElements(v)
	case reflect.Map:
		return n.clearKeys(v)
	default:
		return v, false
	}
}

func (n *Node) clearPointer(v reflect.Value) (left reflect.Value, changed bool) {
	if v.IsNil() {
		return v, false
	}
	left, changed = n.clear(v.Elem())
	switch {
	case !changed:
		return v, false
	case left.Kind() == reflect.Map && left.Len() == 0: // as a JSON member that was cut out
		return reflect.Zero(v.Type()), true
	}
	if left.CanAddr() { // a copy made here
		return left.Addr(), true
	}
	pointer := reflect.New(left.Type())
	pointer.Elem().Set(left)
	return pointer, true
}

func (n *Node) clearFields(v reflect.Value) (left reflect.Value, changed bool) {
	left = v
	for _, child := range n.Children {
		field := v.Field(child.index)
		value, differs := reflect.Zero(field.Type()), child.omit != nil && !field.IsZero()
		if child.omit == nil {
			value, differs = child.clear(field)
		} else if differs {
			child.omit.markFound()
		}
		if !differs {
			continue
		}
		if !changed {
			left, changed = reflect.New(v.Type()).Elem(), true
			left.Set(v)
		}
		left.Field(child.index).Set(value)
	}
	return left, changed
}

func (n *Node) clearElements(v reflect.Value) (left reflect.Value, changed bool) {
	left = v
	for i := range v.Len() {
		element, differs := n.clear(v.Index(i))
		if !differs {
			continue
		}
		if !changed {
			left, changed = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
			reflect.Copy(left, v)
		}
		left.Index(i).Set(element)
	}
	return left, changed
}

// clearKeys returns nil for a map without keys, see the documentation of the package.
func (n *Node) clearKeys(v reflect.Value) (left reflect.Value, changed bool) {
	if v.IsNil() {
		return v, false
	}
	left = v
	clone := func() {
		if !changed {
			left, changed = cloneMap(v), true
		}
	}
	for _, child := range n.Children {
		key := reflect.ValueOf(child.Name).Convert(v.Type().Key())
		value := v.MapIndex(key)
		if !value.IsValid() {
			continue
		}
		if child.omit != nil {
			child.omit.markFound()
			clone()
			left.SetMapIndex(key, reflect.Value{})
		} else if value, differs := child.clear(value); differs {
			clone()
			left.SetMapIndex(key, emptied(child, value))
		}
	}
	if left.Len() == 0 {
		return reflect.Zero(v.Type()), true
	}
	return left, changed
}

// emptied returns the value to set for a key: none for a map that was emptied.
func emptied(child *Node, value reflect.Value) reflect.Value {
	if child.isMap && value.Kind() == reflect.Map && value.Len() == 0 {
		return reflect.Value{}
	}
	return value
}

func cloneMap(v reflect.Value) reflect.Value {
	clone := reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, value := range v.Seq2() {
		clone.SetMapIndex(key, value)
	}
	return clone
}

// clearUnstructured returns an unstructured object without the fields.
func (n *Node) clearUnstructured(obj runtime.Unstructured) runtime.Object {
	left, changed := n.clearUntyped(obj.UnstructuredContent())
	if !changed {
		return obj
	}
	content, _ := left.(map[string]any)
	edited := obj.NewEmptyInstance()
	edited.SetUnstructuredContent(content)
	return edited
}

// clearUntyped is clear for a value of an unstructured object.
func (n *Node) clearUntyped(v any) (left any, changed bool) {
	switch v := v.(type) {
	case map[string]any:
		return n.clearNames(v)
	case []any:
		return n.clearItems(v)
	}
	return v, false
}

func (n *Node) clearNames(object map[string]any) (left map[string]any, changed bool) {
	left = object
	clone := func() {
		if !changed {
			left, changed = maps.Clone(object), true
		}
	}
	for _, child := range n.Children {
		value, ok := object[child.Name]
		if !ok {
			continue
		}
		if child.omit != nil {
			if !isEmptyUntyped(value) {
				child.omit.markFound()
			}
			clone()
			delete(left, child.Name)
			continue
		}
		value, differs := child.clearUntyped(value)
		if inner, ok := value.(map[string]any); ok && child.isMap && len(inner) == 0 {
			clone()
			delete(left, child.Name)
		} else if differs {
			clone()
			left[child.Name] = value
		}
	}
	return left, changed
}

// isEmptyUntyped reports whether a value of an unstructured object has no content: typed clients
// send empty structs, and null for times.
func isEmptyUntyped(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, member := range v {
			if !isEmptyUntyped(member) {
				return false
			}
		}
		return true
	}
	return false
}

func (n *Node) clearItems(list []any) (left []any, changed bool) {
	left = list
	for i, item := range list {
		item, differs := n.clearUntyped(item)
		if !differs {
			continue
		}
		if !changed {
			left, changed = slices.Clone(list), true
		}
		left[i] = item
	}
	return left, changed
}
