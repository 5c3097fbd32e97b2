// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Node is the values at a path, or on the way to one: the elements of a list have the node of the
// list.
type Node struct {
	Name     string              // of the member in JSON, or the key of a map
	Field    reflect.StructField // of the API type; zero for keys, roots and parts of unstructured objects
	Type     reflect.Type        // of the values, without pointers and lists; nil if it is not known
	Inline   bool                // the members of the struct are those of the enclosing object in JSON
	Children []*Node             // the fields, or the keys of a map, at paths or on the way to one

	Own      reflect.Type // the struct of the program that holds the children; nil for values that are read whole
	OwnIndex int          // of the field in such a struct

	index         int   // of the field in its Go struct
	number        int32 // of the field in protobuf, 0 if it has none
	isMap         bool  // children are keys
	behindPointer bool  // in an embedded pointer, which JSON sets only if a member is there

	omit  *path // the whole value is omitted
	keep  bool  // of the value, only children are left
	whole bool  // all of the value is left, although its parent has keep

	members []*Node // children in JSON: those of inlined structs instead of these
	entry   *Node   // of a key: the message that holds key and value in protobuf
}

// step returns the child that a segment of a path leads to, which it adds if there is none. parent
// is the path to n.
func (n *Node) step(s segment, parent string) (*Node, error) {
	isMap := n.Type == nil || n.Type.Kind() == reflect.Map && n.Type.Key().Kind() == reflect.String && !isOpaque(n.Type)
	switch {
	case s.key && isNumber(s.name) && (!isMap || n.Type == nil):
		return nil, fmt.Errorf("%s cannot have an index: a path applies to all elements of a list", parent)
	case s.key && !isMap:
		return nil, fmt.Errorf("%s is no map", parent)
	case s.key:
		return n.addKey(s.name), nil
	case n.Type == nil:
		return n.addName(s.name, nil), nil
	case n.Type.Kind() == reflect.Map:
		return nil, fmt.Errorf("%s is a map: name one of its keys in brackets, as in %[1]s[key]", parent)
	case n.Type.Kind() != reflect.Struct || isOpaque(n.Type):
		return nil, fmt.Errorf("%s is a %s, which has no fields", parent, n.Type)
	}
	return n.addField(s.name)
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// addName returns the child with a name and a type, which it adds if there is none.
func (n *Node) addName(name string, t reflect.Type) *Node {
	if child := n.child(name); child != nil {
		return child
	}
	child := &Node{Name: name, Type: t}
	n.Children = append(n.Children, child)
	return child
}

// addKey is addName for a key of a map.
func (n *Node) addKey(name string) *Node {
	var value reflect.Type
	if n.Type != nil {
		value = elementOf(n.Type.Elem())
	}
	n.isMap = true
	child := n.addName(name, value)
	child.number, child.entry = entryValue, &Node{Children: []*Node{child}}
	return child
}

// addField is addName for a field of a struct. Nodes of the inlined structs around the field are
// between n and the result.
func (n *Node) addField(name string) (*Node, error) {
	chain := findField(n.Type, name, nil)
	if chain == nil {
		return nil, fmt.Errorf("%s has no field %q", n.Type, name)
	}
	last := len(chain) - 1
	for _, inlined := range chain[:last] {
		n = n.addStructField(inlined, "")
	}
	return n.addStructField(chain[last], name), nil
}

// addStructField is addField for a field of the struct itself. The name of an inlined one is empty.
func (n *Node) addStructField(field reflect.StructField, name string) *Node {
	for _, child := range n.Children {
		if child.index == field.Index[0] {
			return child
		}
	}
	child := &Node{
		Name: name, Field: field, Type: elementOf(field.Type), Inline: name == "", index: field.Index[0], number: ProtobufNumber(field),
		keep:          n.keep && name == "", // its members are those of the struct around it
		behindPointer: n.Inline && (n.behindPointer || n.Field.Type.Kind() == reflect.Pointer),
	}
	n.Children = append(n.Children, child)
	return child
}

// child returns the child with a name, perhaps one of an inlined struct, or nil.
func (n *Node) child(name string) *Node {
	for _, child := range n.Children {
		if child.Inline {
			if inner := child.child(name); inner != nil {
				return inner
			}
		} else if child.Name == name {
			return child
		}
	}
	return nil
}

// hasUnnumbered reports whether a node below n has no number in protobuf.
func (n *Node) hasUnnumbered() bool {
	return slices.ContainsFunc(n.Children, func(child *Node) bool { return child.number == 0 || child.hasUnnumbered() })
}

// clone returns a copy of the tree, which ends at values that are left whole.
func (n *Node) clone() *Node {
	copied := *n
	copied.Children = nil
	if !n.whole {
		for _, child := range n.Children {
			copied.Children = append(copied.Children, child.clone())
		}
	}
	return &copied
}

// elementOf returns the type of a value, or that of its elements if it is a list, without pointers.
// It stops at a type with its own form in JSON.
func elementOf(t reflect.Type) reflect.Type {
	for !isOpaque(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8) {
		t = t.Elem()
	}
	return t
}

// isOpaque reports whether a type has its own form in JSON.
func isOpaque(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// findField returns the field of a struct that has a name in JSON, behind the inlined structs that
// it is in, the outermost first. It returns nil if there is none. outer are the structs that t is
// inlined into.
func findField(t reflect.Type, name string, outer []reflect.Type) []reflect.StructField {
	if slices.Contains(outer, t) {
		return nil
	}
	for field := range t.Fields() {
		if own, inline := nameOf(field); own == name && !inline && field.IsExported() {
			return []reflect.StructField{field}
		}
	}
	for field := range t.Fields() {
		if _, inline := nameOf(field); inline {
			if inner := findField(structOf(field.Type), name, append(outer, t)); inner != nil {
				return append([]reflect.StructField{field}, inner...)
			}
		}
	}
	return nil
}

// nameOf returns the name of a field in JSON, empty if it has none. inline reports whether its
// members are those of the enclosing object instead.
func nameOf(field reflect.StructField) (name string, inline bool) {
	tag, _ := field.Tag.Lookup("json")
	if tag == "-" {
		return "", false
	}
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case name != "":
		return name, false
	case field.Anonymous && structOf(field.Type).Kind() == reflect.Struct:
		return "", field.IsExported() // others cannot be set
	}
	return field.Name, false
}

// structOf returns the type that a pointer type points to, and any other type itself.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// ProtobufNumber returns the number of a field in protobuf, or 0 if its struct tag states none:
//
//	protobuf:"bytes,3,rep,name=finalizers"
func ProtobufNumber(field reflect.StructField) int32 {
	_, rest, _ := strings.Cut(field.Tag.Get("protobuf"), ",")
	text, _, _ := strings.Cut(rest, ",")
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(number)
}

// IsKubernetes reports whether Kubernetes declares a type: its Unmarshal method is generated, and
// does not read fields without a number. Those of other types may be handwritten.
func IsKubernetes(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "k8s.io/") }
