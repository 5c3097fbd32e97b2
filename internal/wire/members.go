package wire

import (
	"fmt"
	"io"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"
)

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

	memberCount
)

var memberPaths = [memberCount]string{
	"", "type", "object", "apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace",
	"metadata.uid", "metadata.resourceVersion", "metadata.labels", "metadata.annotations",
}

// opening is the first byte of a member's value, if it has the right type.
func (m member) opening() byte {
	switch m {
	case memberObject, memberMetadata, memberLabels, memberAnnotations:
		return '{'
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
	}
	return memberNone
}

// span is a part of a scanned text; the zero span is none.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// watchedDepth is one more than how deep the deepest member of interest lies:
// the name in the metadata in the object of an event.
const watchedDepth = 4

// members is where the members of interest are in a text. Of one that comes
// twice it is the last that is not null, as encoding/json decodes a struct.
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
	switch text[start] {
	case which.opening():
		m.at[which] = span{start, at}
	case 'n':
	default:
		if m.wrong == memberNone {
			m.wrong = which
		}
	}
}

// identity returns the object's identity, as part of text if it can be.
func (m *members) identity(text []byte) (identity, error) {
	if m.wrong != memberNone {
		return identity{}, m.errWrong()
	}
	return identity{
		namespace:       m.string(text, memberNamespace),
		name:            m.string(text, memberName),
		uid:             m.string(text, memberUID),
		resourceVersion: m.string(text, memberResourceVersion),
	}, nil
}

// errWrong is the error of a member that has another type.
func (m *members) errWrong() error {
	expected := "a string"
	if m.wrong.opening() == '{' {
		expected = "an object"
	}
	return inField(memberPaths[m.wrong], fmt.Errorf("not %s", expected))
}

// string returns a member's value, empty if there is none.
func (m *members) string(text []byte, which member) []byte {
	at := m.at[which]
	if at == (span{}) {
		return nil
	}
	return unquote(text[at.start+1 : at.end-1])
}

// unquote returns what a string stands for, given what is between its quotes.
// It copies only what has escapes or is not UTF-8.
func unquote(quoted []byte) []byte {
	ascii := true
	for _, c := range quoted {
		if c == '\\' {
			return unescape(quoted)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(quoted) {
		return unescape(quoted)
	}
	return quoted
}

// unescape leaves the seldom cases to those who decode strings elsewhere.
func unescape(quoted []byte) []byte {
	var s string
	if err := json.Unmarshal([]byte(`"`+string(quoted)+`"`), &s); err != nil {
		return quoted // it was scanned and is a string
	}
	return []byte(s)
}

// stringMap decodes labels or annotations.
func (m *members) stringMap(text []byte, field metaField) (map[string]string, error) {
	which := memberLabels
	if field == fieldAnnotations {
		which = memberAnnotations
	}
	if m.wrong != memberNone {
		return nil, m.errWrong()
	}
	if m.twice {
		return m.mergedMap(text, field)
	}
	if m.at[which] == (span{}) {
		return nil, nil
	}
	var entries map[string]string
	if err := json.Unmarshal(m.at[which].of(text), &entries); err != nil {
		return nil, inField(memberPaths[which], err)
	}
	return entries, nil
}

// mergedMap decodes the object's metadata to know what becomes of a map that is
// there twice.
func (m *members) mergedMap(text []byte, field metaField) (map[string]string, error) {
	if m.at[memberObject] != (span{}) {
		text = m.at[memberObject].of(text)
	}
	var object struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, inField("metadata", err)
	}
	if field == fieldLabels {
		return object.Metadata.Labels, nil
	}
	return object.Metadata.Annotations, nil
}

// parseJSON scans an object that is there in full.
func (i *Item) parseJSON() error {
	var s scanner
	i.text = i.Raw
	s.start(0, scopeObject)
	if len(i.Raw) > 0 && i.Raw[0] != '{' {
		return i.located(0, unexpected(i.Raw[0], "an object"))
	}
	done, err := s.scan(i.Raw)
	switch {
	case err != nil:
	case !done:
		err = io.ErrUnexpectedEOF
	case s.i < len(i.Raw):
		err = unexpected(i.Raw[s.i], "the end")
	}
	if err != nil {
		return i.located(int64(s.i), err)
	}
	i.members = s.members
	i.APIVersion = string(s.members.string(i.text, memberAPIVersion))
	i.Kind = string(s.members.string(i.text, memberKind))
	return nil
}
