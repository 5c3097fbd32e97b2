// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema is the schema of a value. It must not be modified and is safe for concurrent use. The
// methods of a nil Schema, which accepts any value, do nothing.
type Schema struct {
	properties map[string]*Schema
	others     *Schema // of the fields that are not in properties; nil if there must be none
	items      *Schema // of the items of a list; nil if they have no schema
	initial    any     // the default; nil if there is none
	nullable   bool
	preserve   bool // x-kubernetes-preserve-unknown-fields
	embedded   bool // x-kubernetes-embedded-resource
	listType   string
	listKeys   []string
	celRules   bool         // the schema, or one of a value inside, has x-kubernetes-validations
	rules      *spec.Schema // what Validate enforces
	source     map[string]any
}

// Parse returns the schema of an object from its JSON, as in openAPIV3Schema. The JSON must not be
// modified afterwards. The error names the field that is not a schema.
func Parse(source map[string]any) (*Schema, error) {
	return parse(source, "openAPIV3Schema")
}

func parse(source map[string]any, path string) (*Schema, error) {
	r := &reader{source: source, path: path}
	s := &Schema{
		initial:  source["default"],
		nullable: read[bool](r, "nullable"),
		preserve: read[bool](r, "x-kubernetes-preserve-unknown-fields"),
		embedded: read[bool](r, "x-kubernetes-embedded-resource"),
		listType: read[string](r, "x-kubernetes-list-type"),
		listKeys: r.strings("x-kubernetes-list-map-keys"),
		celRules: len(read[[]any](r, "x-kubernetes-validations")) > 0,
		source:   source,
	}
	if s.rules = r.rules(); r.err != nil {
		return nil, r.err
	}
	return s, s.parseInner(path)
}

// parseInner parses the schemas of the values inside.
func (s *Schema) parseInner(path string) (err error) {
	if s.items, err = parseField(s.source["items"], path+".items"); err != nil {
		return err
	}
	if s.others, err = parseField(s.source["additionalProperties"], path+".additionalProperties"); err != nil {
		return err
	}
	properties, ok := s.source["properties"].(map[string]any)
	if s.source["properties"] != nil && !ok {
		return fmt.Errorf("parse schema: %s.properties is %T, want an object", path, s.source["properties"])
	}
	s.properties = make(map[string]*Schema, len(properties))
	for name, property := range properties {
		if s.properties[name], err = parseField(property, path+".properties."+name); err != nil {
			return err
		}
	}
	s.addInnerRules()
	return nil
}

// addInnerRules adds the rules of the values inside.
func (s *Schema) addInnerRules() {
	if s.items != nil {
		s.rules.Items = &spec.SchemaOrArray{Schema: s.items.rules}
		s.celRules = s.celRules || s.items.celRules
	}
	if s.others != nil {
		s.rules.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: s.others.rules}
		s.celRules = s.celRules || s.others.celRules
	}
	if len(s.properties) > 0 {
		s.rules.Properties = make(map[string]spec.Schema, len(s.properties))
	}
	for name, property := range s.properties {
		if property != nil {
			s.rules.Properties[name] = *property.rules
			s.celRules = s.celRules || property.celRules
		}
	}
}

// parseField parses a schema inside another one: nil if there is none, and one that allows any
// value for true, which additionalProperties may be.
func parseField(source any, path string) (*Schema, error) {
	switch source := source.(type) {
	case nil:
		return nil, nil
	case bool:
		if !source {
			return nil, nil
		}
		return &Schema{nullable: true, rules: &spec.Schema{}}, nil
	case map[string]any:
		return parse(source, path)
	}
	return nil, fmt.Errorf("parse schema: %s is %T, want an object", path, source)
}

// HasCELRules reports whether the schema has x-kubernetes-validations, which Validate does not
// evaluate.
func (s *Schema) HasCELRules() bool {
	return s != nil && s.celRules
}

// Source returns the JSON that the schema was parsed from. It must not be modified.
func (s *Schema) Source() map[string]any {
	if s == nil {
		return nil
	}
	return s.source
}

// field returns the schema of a field, and false if the schema does not specify the field.
func (s *Schema) field(name string) (*Schema, bool) {
	if s == nil {
		return nil, false
	}
	if property, ok := s.properties[name]; ok {
		return property, true
	}
	return s.others, s.others != nil
}

// item returns the schema of the items of a list.
func (s *Schema) item() *Schema {
	if s == nil {
		return nil
	}
	return s.items
}

// Prune removes the fields of an object that the schema does not specify, and the nulls that it
// neither allows nor replaces. It returns the paths of the unknown fields in ascending order, such
// as spec.parts[0].size.
func (s *Schema) Prune(object map[string]any) (unknown []string) {
	if s == nil {
		return nil
	}
	p := &pruning{}
	p.object(object, s, "", s.preserve, true)
	removeNulls(object, s)
	slices.Sort(p.unknown)
	return p.unknown
}

// pruning is the removal of unknown fields from one object.
type pruning struct{ unknown []string }

// value prunes a value. Unknown fields of an object, and of the objects of a list, are kept if keep
// is set.
func (p *pruning) value(value any, s *Schema, path string, keep bool) {
	keep = keep || s != nil && s.preserve
	switch value := value.(type) {
	case map[string]any:
		p.object(value, s, path, keep, s != nil && s.embedded)
	case []any:
		for i, item := range value {
			p.value(item, s.item(), path+"["+strconv.Itoa(i)+"]", keep)
		}
	}
}

func (p *pruning) object(object map[string]any, s *Schema, path string, keep, embedded bool) {
	for name, value := range object {
		if embedded && isMeta(name) {
			continue
		}
		child := name
		if path != "" {
			child = path + "." + name
		}
		if field, ok := s.field(name); ok {
			p.value(value, field, child, false)
		} else if !keep {
			delete(object, name)
			p.unknown = append(p.unknown, child)
		}
	}
}

// isMeta reports whether a field is one that each object of the API has.
func isMeta(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata"
}

// removeNulls removes the nulls of objects that are not nullable and have no default.
func removeNulls(value any, s *Schema) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			field, _ := s.field(name)
			if field.forbidsNull(child) && field.initial == nil {
				delete(value, name)
			} else {
				removeNulls(child, field)
			}
		}
	case []any:
		for _, item := range value {
			removeNulls(item, s.item())
		}
	}
}

// forbidsNull reports whether a value is null and must not be.
func (s *Schema) forbidsNull(value any) bool {
	return value == nil && s != nil && !s.nullable
}

// Default sets the missing fields of an object, and those that must not be null, to their defaults.
func (s *Schema) Default(object map[string]any) {
	setDefaults(object, s)
}

func setDefaults(value any, s *Schema) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.properties {
			if _, found := value[name]; !found && property != nil && property.initial != nil {
				value[name] = runtime.DeepCopyJSONValue(property.initial)
			}
		}
		for _, name := range slices.Collect(maps.Keys(value)) {
			field, _ := s.field(name)
			value[name] = field.replaceNull(value[name])
			setDefaults(value[name], field)
		}
	case []any:
		for i := range value {
			value[i] = s.items.replaceNull(value[i])
			setDefaults(value[i], s.items)
		}
	}
}

// replaceNull returns the default instead of a null that is not nullable, and other values as they
// are.
func (s *Schema) replaceNull(value any) any {
	if s.forbidsNull(value) {
		return runtime.DeepCopyJSONValue(s.initial)
	}
	return value
}
