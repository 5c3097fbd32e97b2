// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// member is a member of a JSON object that the scanner records.
type member uint8

const (
	memberNone member = iota

	// Of a watch event.
	memberType
	memberObject

	// Of an object.
	memberAPIVersion
	memberKind
	memberMetadata

	// Of metadata.
	memberName
	memberNamespace
	memberUID
	memberResourceVersion
	memberLabels
	memberAnnotations
	memberOwnerReferences

	// Of an owner reference, as is memberUID.
	memberController

	memberCount
)

var memberPaths = [memberCount]string{
	"", "type", "object", "apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace",
	"metadata.uid", "metadata.resourceVersion", "metadata.labels", "metadata.annotations",
	"metadata.ownerReferences", "controller",
}

// opening returns the first byte of a value of the member's type.
func (m member) opening() byte {
	switch m {
	case memberObject, memberMetadata, memberLabels, memberAnnotations:
		return '{'
	case memberOwnerReferences:
		return '['
	case memberController:
		return 't'
	}
	return '"'
}

// closing returns the last byte of a value of the member's type, a string, an object or an array.
func (m member) closing() byte {
	switch m.opening() {
	case '{':
		return '}'
	case '[':
		return ']'
	}
	return '"'
}

// objectLevel says what an open JSON object is in the document, and thereby which of its members
// are recorded.
type objectLevel uint8

const (
	levelOther objectLevel = iota
	levelEvent
	levelObject
	levelMetadata
	levelOwner
)

// member returns the member called name, or memberNone if it is not recorded.
func (l objectLevel) member(name []byte) member {
	switch l {
	case levelEvent:
		switch string(name) {
		case "type":
			return memberType
		case "object":
			return memberObject
		}
	case levelObject:
		switch string(name) {
		case "apiVersion":
			return memberAPIVersion
		case "kind":
			return memberKind
		case "metadata":
			return memberMetadata
		}
	case levelMetadata:
		return metadataMember(name)
	case levelOwner:
		switch string(name) {
		case "uid":
			return memberUID
		case "controller":
			return memberController
		}
	}
	return memberNone
}

func metadataMember(name []byte) member {
	switch string(name) {
	case "name":
		return memberName
	case "namespace":
		return memberNamespace
	case "uid":
		return memberUID
	case "resourceVersion":
		return memberResourceVersion
	case "labels":
		return memberLabels
	case "annotations":
		return memberAnnotations
	case "ownerReferences":
		return memberOwnerReferences
	}
	return memberNone
}

// span is a part of a scanned text. The zero span means absent: no recorded value begins at 0.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// watchedDepth is one more than the depth of the deepest recorded members, which are in the
// metadata of the object of an event.
const watchedDepth = 4

// members records the positions of members in a text. Of a duplicate member it records the last
// value that is not null, as encoding/json does when it decodes a struct.
//
// The scanner reports names and values only at watched depths. Nearly all of an object lies deeper
// and costs one comparison.
//
//	depth  0  1         2                 3
//	       {"type":..., "object": {
//	                       "metadata": {
//	                                   "name": ...
//
// Invariant: levels[d] and current[d+1] describe the value that is open at depth d. They have no
// meaning after it is closed.
type members struct {
	at           [memberCount]span
	wrong        uint16 // the members with a value of the wrong type, one bit each
	seen         uint16 // the members that have occurred, one bit each
	duplicate    bool   // a member has occurred more than once
	duplicateMap bool   // annotations occur more than once and must be merged
	largeNumber  bool   // a number may be larger than a float64 can hold

	levels  [watchedDepth]objectLevel // of the open values, from the outermost
	current [watchedDepth]member      // the member whose value is next, or open
	starts  [watchedDepth]int         // where the value of current begins
}

// start resets m for a text whose outermost object is at the given level.
func (m *members) start(outermost objectLevel) {
	*m = members{}
	m.levels[0] = outermost
}

// watching reports whether the scanner must report names and values at depth.
func (m *members) watching(depth int) bool {
	return depth < watchedDepth && depth > 0 && m.levels[depth-1] != levelOther
}

// name is called after the name of a member.
func (m *members) name(name []byte, escaped bool, depth int) {
	if escaped {
		name = unquote(name)
	}
	m.current[depth] = m.levels[depth-1].member(name)
}

// begin is called where a value begins.
func (m *members) begin(depth, at int) { m.starts[depth] = at }

// open is called where an array or object begins at depth.
func (m *members) open(depth int, object bool) {
	if depth == 0 || depth >= watchedDepth {
		return
	}
	m.levels[depth] = levelOther
	if !object {
		return
	}
	switch m.levels[depth-1] {
	case levelEvent:
		if m.current[depth] == memberObject {
			m.levels[depth] = levelObject
			m.resetObject()
		}
	case levelObject:
		if m.current[depth] == memberMetadata {
			m.levels[depth] = levelMetadata
		}
	}
}

// resetObject is called where an event's object begins. A duplicate "object" replaces the first and
// is not merged with it, because the object is decoded separately from the event.
func (m *members) resetObject() {
	for i := memberAPIVersion; i < memberCount; i++ {
		m.at[i] = span{}
	}
	m.wrong, m.duplicateMap = m.wrong&(1<<memberType), false
	m.seen, m.duplicate = 0, false
}

// end is called after a value.
func (m *members) end(text []byte, depth, at int) {
	which := m.current[depth]
	if which == memberNone {
		return
	}
	m.duplicate = m.duplicate || m.seen>>which&1 != 0
	m.seen |= 1 << which
	start := m.starts[depth]
	if which == memberAnnotations && m.at[which] != (span{}) {
		m.duplicateMap = true
	}
	switch c := text[start]; {
	case c == which.opening(), which == memberController && c == 'f':
		m.at[which] = span{start, at}
	case which == memberOwnerReferences:
		m.at[which] = span{} // null and other types count as absent
	case c == 'n':
	default:
		m.wrong |= 1 << which
	}
}
