// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// newListErrors returns the errors of the lists of an object. If the object that it replaces has
// some, there are none.
func (s *Schema) newListErrors(object, current map[string]any) field.ErrorList {
	errs := s.listErrors(nil, object)
	if len(errs) > 0 && len(s.listErrors(nil, current)) > 0 {
		return nil
	}
	return sorted(errs)
}

// listErrors returns the errors of the lists of the types set and map in a value at a path, which
// must have no duplicates.
func (s *Schema) listErrors(path *field.Path, value any) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			errs = append(errs, s.others.listErrors(path.Key(name), inner)...)
			errs = append(errs, s.properties[name].listErrors(path.Child(name), inner)...)
		}
	case []any:
		errs = s.duplicates(path, value)
		for i, inner := range value {
			errs = append(errs, s.items.listErrors(path.Index(i), inner)...)
		}
	}
	return errs
}

// duplicates returns an error for the second of equal items of a set, or of items of a map with
// equal keys.
func (s *Schema) duplicates(path *field.Path, list []any) field.ErrorList {
	identify := func(item any) any { return item }
	switch s.listType {
	case "map":
		for i, item := range list {
			if _, ok := item.(map[string]any); item != nil && !ok {
				return field.ErrorList{field.Invalid(path.Index(i), item, "must be an object for an array of list-type map")}
			}
		}
		identify = s.keysOf
	case "set":
	default:
		return nil
	}
	var errs field.ErrorList
	seen := map[string]int{}
	for i, item := range list {
		identity := identify(item)
		text, _ := json.Marshal(identity) // from JSON
		seen[string(text)]++
		if seen[string(text)] == 2 {
			errs = append(errs, field.Duplicate(path.Index(i), identity))
		}
	}
	return errs
}

// keysOf returns the keys of an item of a list of the type map, as far as it has them.
func (s *Schema) keysOf(item any) any {
	object, _ := item.(map[string]any)
	keys := map[string]any{}
	for _, name := range s.listKeys {
		if key, ok := object[name]; ok {
			keys[name] = key
		}
	}
	return keys
}
