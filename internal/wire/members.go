package wire

// member is a member of a JSON object that is of interest.
type member uint8

const (
	memberNone member = iota

	memberType // of a watch event
	memberObject

	memberAPIVersion // of an object
	memberKind
	memberMetadata

	memberName // of metadata
	memberNamespace
	memberUID
	memberResourceVersion
	memberLabels
	memberAnnotations
	memberOwnerReferences

	memberController // of an owner reference, as is memberUID

	memberCount
)

var memberPaths = [memberCount]string{
	"", "type", "object", "apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace",
	"metadata.uid", "metadata.resourceVersion", "metadata.labels", "metadata.annotations",
	"metadata.ownerReferences", "controller",
}

// opening is the first byte of a member's value, if it has the right type.
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

// scope is what kind of object a scanner is in, and so which of its members are
// of interest.
type scope uint8

const (
	scopeOther scope = iota
	scopeEvent
	scopeObject
	scopeMetadata
	scopeOwner
)

// member returns the member called name; memberNone for those of no interest.
func (s scope) member(name []byte) member {
	switch s {
	case scopeEvent:
		switch string(name) {
		case "type":
			return memberType
		case "object":
			return memberObject
		}
	case scopeObject:
		switch string(name) {
		case "apiVersion":
			return memberAPIVersion
		case "kind":
			return memberKind
		case "metadata":
			return memberMetadata
		}
	case scopeMetadata:
		return metadataMember(name)
	case scopeOwner:
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

// span is a part of a scanned text; the zero span is none, as nothing of interest
// begins where the text does.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// watchedDepth is one more than how deep the deepest member of interest lies:
// the name in the metadata in the object of an event.
const watchedDepth = 4

// members is where the members of interest are in a text. Of one that comes
// twice it is the last that is not null, as encoding/json decodes a struct.
//
// The scanner reports names and values while it is watching their depth; that
// spares what lies deeper, nearly all of an object, everything but a comparison.
//
//	depth  0  1         2                 3
//	       {"type":..., "object": {
//	                       "metadata": {
//	                                   "name": ...
//
// Invariant: scopes[d] and current[d+1] are of the value that is open at depth
// d, and no longer of interest once it is closed.
type members struct {
	at    [memberCount]span
	wrong member // one with a value of another type than it has to have
	twice bool   // labels or annotations came twice, and have to be merged

	scopes  [watchedDepth]scope  // of the open objects, from the outermost
	current [watchedDepth]member // whose value comes next, or is open
	begun   [watchedDepth]int    // where that value begins
}

// start forgets everything. The text's outermost object is of the given scope.
func (m *members) start(outermost scope) {
	*m = members{}
	m.scopes[0] = outermost
}

// watching tells whether at that depth something may be of interest: values
// and names there are to be reported.
func (m *members) watching(depth int) bool {
	return depth < watchedDepth && depth > 0 && m.scopes[depth-1] != scopeOther
}

// name is called behind the name of a member.
func (m *members) name(name []byte, escaped bool, depth int) {
	if escaped {
		name = unquote(name)
	}
	m.current[depth] = m.scopes[depth-1].member(name)
}

// begin is called where a value begins.
func (m *members) begin(depth, at int) { m.begun[depth] = at }

// open is called where an array or object is opened in one depth levels deep.
func (m *members) open(depth int, object bool) {
	if depth == 0 || depth >= watchedDepth {
		return
	}
	m.scopes[depth] = scopeOther
	if !object {
		return
	}
	switch m.scopes[depth-1] {
	case scopeEvent:
		if m.current[depth] == memberObject {
			m.scopes[depth] = scopeObject
			m.forgetObject()
		}
	case scopeObject:
		if m.current[depth] == memberMetadata {
			m.scopes[depth] = scopeMetadata
		}
	}
}

// forgetObject is called where an event's object begins: a second one takes the
// place of the first, unlike other objects, as it is decoded apart.
func (m *members) forgetObject() {
	for i := memberAPIVersion; i < memberCount; i++ {
		m.at[i] = span{}
	}
	m.wrong, m.twice = memberNone, false
}

// end is called behind a value.
func (m *members) end(text []byte, depth, at int) {
	which := m.current[depth]
	if which == memberNone {
		return
	}
	start := m.begun[depth]
	if (which == memberLabels || which == memberAnnotations) && m.at[which] != (span{}) {
		m.twice = true
	}
	switch c := text[start]; {
	case c == which.opening(), which == memberController && c == 'f':
		m.at[which] = span{start, at}
	case which == memberOwnerReferences:
		m.at[which] = span{} // null and other types count as absent
	case c == 'n':
	default:
		if m.wrong == memberNone {
			m.wrong = which
		}
	}
}
