// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"reflect"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// ratchet validates a value that replaces another one. It accepts any value that is equal to the
// one it replaces. kube-apiserver does so, too, but compares only values that are invalid.
type ratchet struct {
	pair
	rules *spec.Schema
	path  string
}

func (s *Schema) ratchet(next, current any) *ratchet {
	return &ratchet{pair: pair{s, next, current}, rules: s.rules}
}

// Validate implements validate.ValueValidator.
func (r *ratchet) Validate(value any) *validate.Result {
	if r.unchanged() {
		return &validate.Result{}
	}
	return validate.NewSchemaValidator(r.rules, nil, r.path, strfmt.Default, r.validateInner).Validate(value)
}

// validateInner makes a validator use ratchets for the fields and items of its value.
func (r *ratchet) validateInner(options *validate.SchemaValidatorOptions) {
	options.NewValidatorForField = func(name string, rules *spec.Schema, _ any, path string, formats strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
		inner, ok := r.field(name)
		if !ok || r.path == "" && (name == "kind" || name == "apiVersion") {
			return validate.NewSchemaValidator(rules, nil, path, formats)
		}
		return &ratchet{pair: inner, rules: rules, path: path}
	}
	options.NewValidatorForIndex = func(i int, rules *spec.Schema, _ any, path string, formats strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
		inner, ok := r.item(i)
		if !ok {
			return validate.NewSchemaValidator(rules, nil, path, formats)
		}
		return &ratchet{pair: inner, rules: rules, path: path}
	}
}

// SetPath implements validate.ValueValidator. The validators do not call it.
func (r *ratchet) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (r *ratchet) Applies(any, reflect.Kind) bool { return true }

// pair is a value and the one that it replaces.
type pair struct {
	schema        *Schema
	next, current any
}

// field returns the pair of a field. It returns false if one of the objects does not have the
// field, or the schema does not specify it.
func (p pair) field(name string) (pair, bool) {
	next, _ := p.next.(map[string]any)
	current, _ := p.current.(map[string]any)
	after, ok := next[name]
	before, existed := current[name]
	schema, _ := p.schema.field(name)
	return pair{schema, after, before}, ok && existed && schema.Source() != nil
}

// item returns the pair of an item. It returns false if there is none: only the items of a list of
// the type map have an identity, their keys.
func (p pair) item(i int) (pair, bool) {
	next, _ := p.next.([]any)
	current, _ := p.current.([]any)
	if p.schema.listType != "map" || p.schema.items.Source() == nil || i >= len(next) {
		return pair{}, false
	}
	for _, item := range current {
		if p.schema.sameKeys(next[i], item) {
			return pair{p.schema.items, next[i], item}, true
		}
	}
	return pair{}, false
}

// sameKeys reports whether two items of a list of the type map have the same keys.
func (s *Schema) sameKeys(a, b any) bool {
	x, ok := a.(map[string]any)
	y, alsoOK := b.(map[string]any)
	if !ok || !alsoOK || len(s.listKeys) == 0 {
		return false
	}
	for _, key := range s.listKeys {
		if !isScalar(x[key]) || !isScalar(y[key]) || x[key] != y[key] {
			return false
		}
	}
	return true
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}

// unchanged reports whether the values are equal. Lists of the type map may differ in their order.
// Objects with fields that the schema does not specify are never equal, as in kube-apiserver.
func (p pair) unchanged() bool {
	switch next := p.next.(type) {
	case map[string]any:
		current, ok := p.current.(map[string]any)
		if !ok || len(next) != len(current) {
			return false
		}
		for name := range next {
			if inner, ok := p.field(name); !ok || !inner.unchanged() {
				return false
			}
		}
		return true
	case []any:
		current, ok := p.current.([]any)
		if !ok || p.schema.listType != "map" {
			return reflect.DeepEqual(p.next, p.current)
		}
		for i := range next {
			if inner, ok := p.item(i); !ok || !inner.unchanged() {
				return false
			}
		}
		return len(next) == len(current)
	}
	return reflect.DeepEqual(p.next, p.current)
}
