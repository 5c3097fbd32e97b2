// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"math/bits"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/kinformer/internal/layout"
)

// parseJSON scans Raw, which must be one complete object without white space around it.
func (i *Item) parseJSON() error {
	var s scanner
	i.text = i.Raw
	s.start(0, levelObject)
	if len(i.Raw) > 0 && i.Raw[0] != '{' {
		return i.errorAt(0, unexpected(i.Raw[0], "an object"))
	}
	done, err := s.scan(i.Raw)
	switch {
	case err != nil:
	case !done:
		err = io.ErrUnexpectedEOF
	case s.i < len(i.Raw):
		err = unexpected(i.Raw[s.i], "the end of the object")
	}
	if err != nil {
		return i.errorAt(int64(s.i), err)
	}
	i.members = s.members
	i.APIVersion = string(s.members.string(i.text, memberAPIVersion))
	i.Kind = string(s.members.string(i.text, memberKind))
	return nil
}

// located are the members whose places are in a layout, in the order of parts.
var located = [...]member{memberAPIVersion, memberKind, memberMetadata, memberLabels, memberOwnerReferences}

// parts returns the parts of a layout that are members in JSON.
func parts(at *layout.Object) [len(located)]*layout.Span {
	return [...]*layout.Span{&at.APIVersion, &at.Kind, &at.Metadata, &at.Labels, &at.Owners}
}

// layoutOfJSON returns the layout of Raw, which has been scanned.
func (i *Item) layoutOfJSON() layout.Object {
	m := &i.members
	if m.duplicate || m.wrong != 0 {
		return layout.Object{}
	}
	at := layout.New(len(i.Raw))
	if at.Length == 0 {
		return at
	}
	at.SmallNumbers = !m.largeNumber
	begin := m.at[memberObject].start // of an event's object
	for n, part := range parts(&at) {
		if found := m.at[located[n]]; found != (span{}) {
			*part = layout.NewSpan(found.start-begin, found.end-begin)
		}
	}
	return at
}

// locateJSON sets what ControllerUID and AppendWithoutKind read to the item's layout. It returns
// false if the members cannot be there.
func (i *Item) locateJSON() bool {
	i.text = i.Raw
	for n, part := range parts(&i.located) {
		if part.IsZero() {
			continue
		}
		value, which := part.Of(i.Raw), located[n]
		if len(value) < 2 || value[0] != which.opening() || value[len(value)-1] != which.closing() {
			return false
		}
		i.members.at[which] = span{int(part.Start), int(part.End)}
	}
	i.APIVersion = string(i.members.string(i.text, memberAPIVersion))
	i.Kind = string(i.members.string(i.text, memberKind))
	return true
}

const (
	// namingMembers are those without which an object's key is not known, one bit each.
	namingMembers = 1<<memberMetadata | 1<<memberName | 1<<memberNamespace
	// identityMembers are those that identify an object and its version.
	identityMembers = namingMembers | 1<<memberAPIVersion | 1<<memberKind | 1<<memberUID | 1<<memberResourceVersion
)

// identity returns the object's identity. Values without escapes are parts of text. If one has the
// wrong type, the others are there, but for a name that may be another object's.
func (m *members) identity(text []byte) (identity, error) {
	fields := identity{
		namespace:       m.string(text, memberNamespace),
		name:            m.string(text, memberName),
		uid:             m.string(text, memberUID),
		resourceVersion: m.string(text, memberResourceVersion),
	}
	if m.wrong&namingMembers != 0 {
		fields.namespace, fields.name = nil, nil
	}
	return fields, m.typeError(identityMembers)
}

// typeError returns the error for the first of some members that has the wrong type, nil if none
// has.
func (m *members) typeError(of uint16) error {
	wrong := m.wrong & of
	if wrong == 0 {
		return nil
	}
	which, expected := member(bits.TrailingZeros16(wrong)), "a string"
	if which.opening() == '{' {
		expected = "an object"
	}
	return inField(memberPaths[which], fmt.Errorf("not %s", expected))
}

// string returns the value of a member, or nil if the object lacks it.
func (m *members) string(text []byte, which member) []byte {
	at := m.at[which]
	if at == (span{}) {
		return nil
	}
	return unquote(text[at.start+1 : at.end-1])
}

// unquote returns the value of the string that is encoded as quoted, without the quotes. It copies
// only strings with escapes or invalid UTF-8.
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

// unescape decodes a string with escapes or invalid UTF-8 as apimachinery does.
func unescape(quoted []byte) []byte {
	var s string
	if err := json.Unmarshal([]byte(`"`+string(quoted)+`"`), &s); err != nil {
		return quoted // unreachable: the scanner has validated the string
	}
	return []byte(s)
}

// annotations returns the annotations, or nil if the object lacks them.
func (m *members) annotations(text []byte) (annotations map[string]string, err error) {
	if err := m.typeError(1<<memberMetadata | 1<<memberAnnotations); err != nil {
		return nil, err
	}
	if m.duplicateMap {
		return m.mergedAnnotations(text)
	}
	if m.at[memberAnnotations] == (span{}) {
		return nil, nil
	}
	if err := json.Unmarshal(m.at[memberAnnotations].of(text), &annotations); err != nil {
		return nil, inField(memberPaths[memberAnnotations], err)
	}
	return annotations, nil
}

// mergedAnnotations decodes the object's metadata to merge annotations that occur more than once.
func (m *members) mergedAnnotations(text []byte) (map[string]string, error) {
	if m.at[memberObject] != (span{}) {
		text = m.at[memberObject].of(text)
	}
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, inField("metadata", err)
	}
	return object.Metadata.Annotations, nil
}
