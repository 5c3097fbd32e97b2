// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// embeddedErrors returns the errors of kind, apiVersion and metadata of the embedded resources in a
// value.
func (s *Schema) embeddedErrors(at *field.Path, value any) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case map[string]any:
		if s.embedded {
			errs = resourceErrors(at, value)
		}
		for name, inner := range value {
			if property, ok := s.properties[name]; ok {
				errs = append(errs, property.embeddedErrors(at.Child(name), inner)...)
			} else {
				errs = append(errs, s.others.embeddedErrors(at.Key(name), inner)...)
			}
		}
	case []any:
		for i, inner := range value {
			errs = append(errs, s.items.embeddedErrors(at.Index(i), inner)...)
		}
	}
	return errs
}

// resourceErrors returns the errors of one embedded resource.
func resourceErrors(at *field.Path, object map[string]any) field.ErrorList {
	errs := checkText(at, object, "apiVersion", func(version string) string {
		if _, err := schema.ParseGroupVersion(version); err != nil {
			return err.Error()
		}
		return ""
	})
	errs = append(errs, checkText(at, object, "kind", func(kind string) string {
		if problems := validation.IsDNS1035Label(strings.ToLower(kind)); len(problems) > 0 {
			return "may have mixed case, but should otherwise match: " + strings.Join(problems, ",")
		}
		return ""
	})...)
	metadata, found := object["metadata"]
	if !found {
		return errs
	}
	at = at.Child("metadata")
	var meta metav1.ObjectMeta
	text, err := json.Marshal(metadata)
	if err == nil {
		err = utiljson.Unmarshal(text, &meta)
	}
	if err != nil {
		return append(errs, field.Invalid(at, metadata, err.Error()))
	}
	if meta.Name == "" {
		meta.Name = "unnamed" // an embedded resource need not have a name
	}
	return append(errs, apivalidation.ValidateObjectMeta(&meta, meta.Namespace != "", validateName, at)...)
}

// validateName returns what is wrong with a name or, if prefix is set, with the beginning of one.
func validateName(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// checkText returns the errors of a required field that is a text. check returns what is wrong with
// it.
func checkText(at *field.Path, object map[string]any, name string, check func(string) string) field.ErrorList {
	at = at.Child(name)
	value, found := object[name]
	text, ok := value.(string)
	switch {
	case !found:
		return field.ErrorList{field.Required(at, "")}
	case !ok:
		return field.ErrorList{field.Invalid(at, value, "must be a string")}
	case text == "":
		return field.ErrorList{field.Invalid(at, text, "must not be empty")}
	}
	if problem := check(text); problem != "" {
		return field.ErrorList{field.Invalid(at, text, problem)}
	}
	return nil
}
