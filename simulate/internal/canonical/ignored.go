// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"fmt"
	"regexp"
	"strings"
)

// Ignored is a set of fields that are left out of a State. The zero value is empty.
type Ignored struct{ fields []ignoredField }

type ignoredField struct {
	kind string // empty for all kinds
	path *regexp.Regexp
}

// Ignore returns the set of the given fields. A field is a path, such as
// "status.conditions[*].lastTransitionTime", for objects of all kinds, or a kind and a path
// separated by a space, such as "Pod status.podIP". The fields below it are ignored, too. It
// returns an error for an empty path.
func Ignore(fields []string) (Ignored, error) {
	var ignored Ignored
	for _, field := range fields {
		kind, path, found := strings.Cut(field, " ")
		if !found {
			kind, path = "", field
		}
		if path == "" || strings.ContainsAny(path, " \t") {
			return Ignored{}, fmt.Errorf("parse ignored field %q: want a path, or a kind, a space and a path", field)
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(path), `\[\*\]`, `\[[^\]]*\]`)
		ignored.fields = append(ignored.fields, ignoredField{kind: kind, path: regexp.MustCompile("^" + pattern + `($|[.\[])`)})
	}
	return ignored, nil
}

func (i Ignored) has(kind, path string) bool {
	for _, field := range i.fields {
		if (field.kind == "" || field.kind == kind) && field.path.MatchString(path) {
			return true
		}
	}
	return false
}
