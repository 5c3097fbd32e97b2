package wire

import (
	"fmt"
	"io"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"
)

// parseJSON scans an object that is there in full, without white space around
// it. Nothing of it may be missing, nothing may follow.
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
