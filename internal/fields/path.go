// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"errors"
	"strings"
	"unicode/utf8"
)

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

// join returns the text of a path, for errors.
func join(segments []segment) string {
	if len(segments) == 0 {
		return "the object"
	}
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
	errBrackets    = errors.New("brackets are not supported: a path names fields, and applies to all elements of a list")
	errMetadata    = errors.New("use ByMetadata for metadata, apiVersion and kind have one value")
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

// ParseNames returns the names in a path such as "spec.nodeName". Keys and paths into the metadata
// are errors.
func ParseNames(text string) (names []string, err error) {
	if strings.ContainsAny(text, "[]") {
		return nil, errBrackets
	}
	segments, err := parse(text)
	if err != nil {
		return nil, err
	}
	if inObject[segments[0].name] != "" {
		return nil, errMetadata
	}
	for _, s := range segments {
		names = append(names, s.name)
	}
	return names, nil
}
