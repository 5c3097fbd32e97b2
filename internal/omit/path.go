// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package omit

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// path is a path as the program has written it.
type path struct {
	text    string
	unknown bool        // the objects' type does not say whether they can have the field
	found   atomic.Bool // an object had the field; not set by cutting protobuf, whose types are known
}

// markFound records that an object had the field.
func (p *path) markFound() {
	if !p.found.Load() { // a write would take the cache line from the other processors each time
		p.found.Store(true)
	}
}

// segment is one step of a path.
type segment struct {
	name string // of a member of an object, or the key of a map
	key  bool   // in brackets
}

func (s segment) String() string {
	if s.key {
		return "[" + s.name + "]"
	}
	return s.name
}

// join returns the text of a path.
func join(segments []segment) string {
	var b strings.Builder
	for i, s := range segments {
		if i > 0 && !s.key {
			b.WriteByte('.')
		}
		b.WriteString(s.String())
	}
	return b.String()
}

var (
	errEmptyName   = errors.New("a name is empty")
	errBracket     = errors.New("a bracket is not closed")
	errAfterKey    = errors.New("a key in brackets must be followed by a dot, another bracket or nothing")
	errNotUTF8     = errors.New("not valid UTF-8")
	errStartsAtKey = errors.New("a path begins with a name")
)

// parse splits a path: names are separated by dots, and the key of a map is in brackets.
func parse(text string) ([]segment, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		return nil, errNotUTF8
	}
	if strings.HasPrefix(text, "[") {
		return nil, errStartsAtKey
	}
	var segments []segment
	for rest := text; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return nil, errEmptyName
		}
		segments = append(segments, segment{name: rest[:end]})
		rest = rest[end:]
		for strings.HasPrefix(rest, "[") {
			key, after, closed := strings.Cut(rest[1:], "]")
			if !closed {
				return nil, errBracket
			}
			segments = append(segments, segment{name: key, key: true})
			rest = after
		}
		if rest == "" {
			return segments, nil
		}
		if rest[0] != '.' {
			return nil, errAfterKey
		}
		rest = rest[1:]
	}
}

const (
	metadataName      = "metadata"
	managedFieldsName = "managedFields"
	managedFieldsPath = metadataName + "." + managedFieldsName
)

// required are the fields of metadata that cannot be omitted, and why.
var required = map[string]string{ //nolint:gochecknoglobals // constant
	"name":              "it identifies the object",
	"namespace":         "it identifies the object",
	"uid":               "it identifies the object",
	"resourceVersion":   "it identifies the object's state",
	"deletionTimestamp": "it says that the object is being deleted",
	"generation":        "it says which state of the spec the status is about",
	"ownerReferences":   "it says which controller the object belongs to",
}

// checkOmittable returns an error for a path that cannot be omitted from objects of any type.
func checkOmittable(segments []segment) error {
	first, rest := segments[0].name, segments[1:]
	switch {
	case first == "apiVersion" || first == "kind":
		return fmt.Errorf("%s cannot be omitted: it says what the object is", first)
	case first != metadataName:
		return nil
	case len(rest) == 0:
		return errors.New("metadata cannot be omitted: it identifies the object")
	}
	name := rest[0].name
	if reason, ok := required[name]; ok {
		return fmt.Errorf("metadata.%s cannot be omitted: %s", name, reason)
	}
	if name == managedFieldsName && len(rest) > 1 {
		return errors.New("metadata.managedFields can be omitted as a whole only: the server resets a list of which parts are missing")
	}
	return nil
}
