// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"fmt"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// reader reads the keywords of one schema from its JSON. Its methods return zero for a keyword that
// the schema does not have. The first invalid one is err.
type reader struct {
	source map[string]any
	path   string
	err    error
}

func (r *reader) fail(name string, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("parse schema: %s.%s is %T, want %s", r.path, name, r.source[name], want)
	}
}

// read returns the value of a keyword, which is a T.
func read[T any](r *reader, name string) T {
	value, ok := r.source[name].(T)
	if !ok && r.source[name] != nil {
		r.fail(name, fmt.Sprintf("%T", value))
	}
	return value
}

func (r *reader) number(name string) *float64 {
	switch value := r.source[name].(type) {
	case nil:
	case int64:
		return new(float64(value))
	case float64:
		return &value
	default:
		r.fail(name, "a number")
	}
	return nil
}

func (r *reader) length(name string) *int64 {
	value := r.number(name)
	if value == nil {
		return nil
	}
	return new(int64(*value))
}

func (r *reader) strings(name string) []string {
	var all []string
	for _, value := range read[[]any](r, name) {
		text, ok := value.(string)
		if !ok {
			r.fail(name, "a list of strings")
		}
		all = append(all, text)
	}
	return all
}

// schemas returns the rules of a list of schemas.
func (r *reader) schemas(name string) []spec.Schema {
	var all []spec.Schema
	for i, value := range read[[]any](r, name) {
		if s := r.schema(value, fmt.Sprintf("%s[%d]", name, i)); s != nil {
			all = append(all, *s)
		}
	}
	return all
}

// schema returns the rules of a schema at a path inside this one.
func (r *reader) schema(source any, path string) *spec.Schema {
	s, err := parseField(source, r.path+"."+path)
	if r.err == nil {
		r.err = err
	}
	if s == nil {
		return nil
	}
	return s.rules
}

// rules returns the rules of the schema, without those of the values inside, which parse adds.
func (r *reader) rules() *spec.Schema {
	if r.source["$ref"] != nil {
		r.err = fmt.Errorf("parse schema: %s.$ref is not allowed", r.path)
	}
	s := &spec.Schema{SchemaProps: spec.SchemaProps{
		Nullable:         read[bool](r, "nullable"),
		Maximum:          r.number("maximum"),
		ExclusiveMaximum: read[bool](r, "exclusiveMaximum"),
		Minimum:          r.number("minimum"),
		ExclusiveMinimum: read[bool](r, "exclusiveMinimum"),
		MultipleOf:       r.number("multipleOf"),
		MaxLength:        r.length("maxLength"),
		MinLength:        r.length("minLength"),
		Pattern:          read[string](r, "pattern"),
		MaxItems:         r.length("maxItems"),
		MinItems:         r.length("minItems"),
		UniqueItems:      read[bool](r, "uniqueItems"),
		MaxProperties:    r.length("maxProperties"),
		MinProperties:    r.length("minProperties"),
		Required:         r.strings("required"),
		Enum:             read[[]any](r, "enum"),
		AllOf:            r.schemas("allOf"),
		AnyOf:            r.schemas("anyOf"),
		OneOf:            r.schemas("oneOf"),
		Not:              r.schema(r.source["not"], "not"),
	}}
	if kind := read[string](r, "type"); kind != "" {
		s.Type = spec.StringOrArray{kind}
	}
	if read[bool](r, "x-kubernetes-int-or-string") {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if format := read[string](r, "format"); isKnownFormat(s.Type, format) {
		s.Format = format
	}
	return s
}

// isKnownFormat reports whether a format is one that kube-apiserver validates. It ignores others.
func isKnownFormat(types []string, format string) bool {
	kind := "string"
	if len(types) == 1 {
		kind = types[0]
	}
	switch kind {
	case "string":
		return strfmt.Default.ContainsName(format)
	case "integer":
		return slices.Contains([]string{"int32", "int64"}, format)
	case "number":
		return slices.Contains([]string{"float", "double"}, format)
	}
	return false
}
