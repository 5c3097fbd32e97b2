// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package omit

import "reflect"

// node is a value of which parts are omitted, or all of it. It stands for all values at a path: the
// elements of a list have the node of the list.
type node struct {
	name     string  // of the member in JSON, or the key of a map
	number   int32   // of the field in protobuf, 0 if it has none
	index    int     // of the field in its Go struct
	inline   bool    // the members of the struct are those of the enclosing object in JSON
	omit     *path   // the whole value is omitted
	keep     bool    // of the value, only children are left
	whole    bool    // all of the value is left, although its parent has keep
	children []*node // the fields, or the keys of a map, of which at least parts are omitted
	isMap    bool    // children are keys

	goType  reflect.Type // of the value, or of a list's elements; nil if unknown
	members []*node      // children in JSON: those of inlined structs instead of these
	entry   *node        // of a key: the message that holds key and value in protobuf
}

// maxMembers is the maximum number of members of one object of which parts are omitted: the JSON
// editor has a bit for each.
const maxMembers = 64

// finish completes a tree. It reports whether an object has too many members.
func (n *node) finish() (ok bool) {
	for _, child := range n.children {
		if !child.finish() {
			return false
		}
		if child.inline {
			n.members = append(n.members, child.members...)
		} else {
			n.members = append(n.members, child)
		}
		if n.isMap {
			value := *child
			value.number = entryValue
			child.entry = &node{children: []*node{&value}}
		}
	}
	return len(n.members) <= maxMembers
}

// child returns the child with a name, or nil.
func (n *node) child(name string) *node {
	for _, child := range n.children {
		if !child.inline && child.name == name {
			return child
		}
	}
	return nil
}

// find is child for a name in JSON: also of a child of an inlined struct.
func (n *node) find(name string) *node {
	for _, child := range n.children {
		if child.inline {
			if found := child.find(name); found != nil {
				return found
			}
		} else if child.name == name {
			return child
		}
	}
	return nil
}

// byNumber returns the child with a field number in protobuf, or nil.
func (n *node) byNumber(number int32) *node {
	for _, child := range n.children {
		if child.number == number {
			return child
		}
	}
	return nil
}

// encodes reports whether a node below n, perhaps in inlined structs, has a number in protobuf.
func (n *node) encodes(below *node) bool {
	for _, child := range n.children {
		if child == below || child.inline && child.encodes(below) {
			return child.number != 0
		}
	}
	return false
}

// addChild returns the child with a name, which it adds if there is none.
func (n *node) addChild(added node) *node {
	if child := n.child(added.name); child != nil {
		return child
	}
	n.children = append(n.children, &added)
	return &added
}

// addInline returns the child of an inlined struct, which it adds if there is none.
func (n *node) addInline(added node) *node {
	for _, child := range n.children {
		if child.inline && child.index == added.index {
			return child
		}
	}
	n.children = append(n.children, &added)
	return &added
}
