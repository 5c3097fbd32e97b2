// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"bytes"
	"encoding/json"

	"github.com/kinformer/kinformer/internal/layout"
)

// Edited is an object's bytes without the fields.
type Edited struct {
	Bytes  []byte        // what they were appended to, and the bytes
	Layout layout.Object // of the bytes; zero if it is not known
}

// AppendJSON appends an encoded object without the fields to dst. The object must be valid JSON; at
// is its layout. It returns false, and dst with a part of the object, for an object that it cannot
// edit: the caller must decode it and call Without. Such an object has duplicate members, or its
// type has an embedded pointer on a path.
func (o *Omitted) AppendJSON(dst, object []byte, at layout.Object) (edited Edited, ok bool) {
	if o.jsonUnsupported {
		return Edited{Bytes: dst}, false
	}
	e := jsonEditor{in: object, out: dst, typed: o.root.Type != nil}
	end, ok := e.value(0, o.root)
	if !ok || e.skipSpace(end) != len(object) {
		return Edited{Bytes: e.out}, false
	}
	e.out = append(e.out, object[e.copied:]...)
	if at.Fits(object) {
		at = e.cuts.move(at)
	} else {
		at = layout.Object{}
	}
	return Edited{e.out, at}, true
}

// jsonEditor copies an object without the fields.
type jsonEditor struct {
	in     []byte
	copied int // the end of what was appended to out or cut
	out    []byte
	cuts   cuts
	typed  bool // the object is decoded into a Go struct
	depth  int  // of nested arrays
}

// maxDepth is the maximum nesting depth of arrays, as in package wire.
const maxDepth = 10000

// cut leaves out what is between two positions.
func (e *jsonEditor) cut(from, to int) {
	e.out = append(e.out, e.in[e.copied:from]...)
	e.copied = to
	e.cuts = append(e.cuts, cut{from: from, to: to})
}

// position is how far an edit is.
type position struct{ out, copied, cuts int }

func (e *jsonEditor) position() position { return position{len(e.out), e.copied, len(e.cuts)} }

// restore forgets the edits since a position.
func (e *jsonEditor) restore(p position) {
	e.out, e.copied, e.cuts = e.out[:p.out], p.copied, e.cuts[:p.cuts]
}

// value edits the value at i, and returns its end.
func (e *jsonEditor) value(i int, n *Node) (end int, ok bool) {
	end, _, ok = e.editValue(i, n)
	return end, ok
}

// editValue edits the value at i, and returns its end. emptied reports whether it is a map without
// keys now.
func (e *jsonEditor) editValue(i int, n *Node) (end int, emptied, ok bool) {
	switch i = e.skipSpace(i); e.at(i) {
	case '{':
		end, left, ok := e.object(i, n)
		return end, n.isMap && left == 0, ok
	case '[':
		end, ok = e.array(i, n)
		return end, false, ok
	}
	end, ok = e.skipValue(i)
	return end, false, ok
}

// object edits the object at i, and returns its end and the number of members left.
func (e *jsonEditor) object(i int, n *Node) (end, left int, ok bool) {
	seen := uint64(0)
	last := i + 1 // the end of the last member that is left, or of the opening brace
	if i = e.skipSpace(i + 1); e.at(i) == '}' {
		return i + 1, 0, true
	}
	for {
		name, value, ok := e.name(i)
		if !ok {
			return i, left, false
		}
		which, child := n.member(name)
		if child != nil {
			if seen&(1<<which) != 0 { // decoders resolve duplicates differently
				return i, left, false
			}
			seen |= 1 << which
		}
		end, keeps, ok := e.member(value, n, child)
		if !ok {
			return i, left, false
		}
		next := e.skipSpace(end)
		c := e.at(next)
		if c != ',' && c != '}' {
			return i, left, false
		}
		switch {
		case keeps:
			last, left = end, left+1
		case left == 0 && c == ',':
			e.cut(max(last, e.copied), next+1)
		default:
			e.cut(max(last, e.copied), end)
		}
		if c == '}' {
			return next + 1, left, true
		}
		i = e.skipSpace(next + 1)
	}
}

// member edits the value at i of a member of n, for which child is nil if n does not name it. It
// returns the value's end, and whether the member is left.
func (e *jsonEditor) member(i int, n, child *Node) (end int, keeps, ok bool) {
	switch {
	case child == nil || child.whole:
		end, ok = e.skipValue(e.skipSpace(i))
		return end, child != nil || !n.keep, ok
	case child.omit != nil:
		begin := e.skipSpace(i)
		if end, ok = e.skipValue(begin); ok && !isEmptyJSON(e.in[begin:end]) {
			child.omit.markFound()
		}
		return end, false, ok
	}
	before := e.position()
	end, emptied, ok := e.editValue(i, child)
	if emptied { // the caller cuts the whole member
		e.restore(before)
	}
	return end, !emptied, ok
}

// isEmptyJSON reports whether a value has no content, in the way in which servers and clients write
// it.
func isEmptyJSON(value []byte) bool {
	switch string(value) {
	case "null", `""`, "[]", "{}", "0", "false":
		return true
	}
	return false
}

// array edits the array at i, and returns its end.
func (e *jsonEditor) array(i int, n *Node) (end int, ok bool) {
	if e.depth++; e.depth > maxDepth {
		return i, false
	}
	defer func() { e.depth-- }()
	if i = e.skipSpace(i + 1); e.at(i) == ']' {
		return i + 1, true
	}
	for {
		i = e.skipSpace(i)
		before := e.position()
		end, emptied, ok := e.editValue(i, n)
		if !ok {
			return i, false
		}
		if emptied && e.typed { // nil, as any emptied map
			e.restore(before)
			e.cut(i, end)
			e.out = append(e.out, "null"...)
			e.cuts[len(e.cuts)-1].added = len("null")
		}
		i = e.skipSpace(end)
		switch e.at(i) {
		case ',':
			i++
		case ']':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// member returns the member with a name and its position, or nil if there is none.
func (n *Node) member(name []byte) (int, *Node) {
	for i, m := range n.members {
		if m.Name == string(name) {
			return i, m
		}
	}
	return 0, nil
}

// name returns the name of the member at i, and the position of its value.
func (e *jsonEditor) name(i int) (name []byte, value int, ok bool) {
	end, ok := e.skipString(i)
	if !ok {
		return nil, 0, false
	}
	name = e.in[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var unescaped string
		if json.Unmarshal(e.in[i:end], &unescaped) != nil {
			return nil, 0, false
		}
		name = []byte(unescaped)
	}
	i = e.skipSpace(end)
	return name, i + 1, e.at(i) == ':'
}

// at returns the byte at i, or 0 at the end.
func (e *jsonEditor) at(i int) byte {
	if i < len(e.in) {
		return e.in[i]
	}
	return 0
}

func (e *jsonEditor) skipSpace(i int) int {
	for i < len(e.in) {
		switch e.in[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// skipValue returns the end of the value at i.
func (e *jsonEditor) skipValue(i int) (end int, ok bool) {
	depth := 0
	for i < len(e.in) {
		switch e.in[i] {
		case '"':
			if i, ok = e.skipString(i); !ok {
				return i, false
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			i = e.skipScalar(i)
		}
		if depth <= 0 {
			return i, depth == 0
		}
	}
	return i, false
}

// skipScalar returns the end of the number or literal at i.
func (e *jsonEditor) skipScalar(i int) int {
	for i++; i < len(e.in); i++ {
		switch e.in[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
	}
	return i
}

// skipString returns the end of the string at i.
func (e *jsonEditor) skipString(i int) (end int, ok bool) {
	if e.at(i) != '"' {
		return i, false
	}
	for i++; ; i++ {
		quote := bytes.IndexByte(e.in[min(i, len(e.in)):], '"')
		if quote < 0 {
			return i, false
		}
		begin := i
		i += quote
		backslashes := 0
		for i-1-backslashes >= begin && e.in[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i + 1, true
		}
	}
}
