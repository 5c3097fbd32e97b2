// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
)

// Validate returns the errors of a new object, sorted by field. earlier are the errors of its
// metadata.
func (s *Schema) Validate(object map[string]any, earlier field.ErrorList) field.ErrorList {
	if s == nil {
		return earlier
	}
	errs := slices.Concat(earlier, s.errorsOf(object, nil, nil), sorted(s.embeddedErrors(nil, object)), sorted(s.listErrors(nil, object)))
	return s.withSkippedRules(errs)
}

// ValidateUpdate is like Validate, for an object that replaces another one. It accepts an invalid
// value that is unchanged.
func (s *Schema) ValidateUpdate(object, current map[string]any, earlier field.ErrorList) field.ErrorList {
	if s == nil {
		return earlier
	}
	errs := slices.Concat(earlier, s.errorsOf(object, current, nil), sorted(s.embeddedErrors(nil, object)), s.newListErrors(object, current))
	return s.withSkippedRules(errs)
}

// ValidateStatus is like ValidateUpdate, for an update of the status only.
func (s *Schema) ValidateStatus(object, current map[string]any, earlier field.ErrorList) field.ErrorList {
	if s == nil {
		return earlier
	}
	errs := slices.Clone(earlier)
	status, found := object["status"]
	if schema := s.properties["status"]; schema != nil && found {
		errs = append(errs, schema.errorsOf(status, current["status"], field.NewPath("status"))...)
	}
	return s.withSkippedRules(append(errs, s.newListErrors(object, current)...))
}

// errorsOf returns the errors of the value at a path that replaces current, which is nil if there
// is none.
func (s *Schema) errorsOf(value, current any, path *field.Path) field.ErrorList {
	result := s.ratchet(value, current).Validate(value)
	var errs field.ErrorList
	for _, err := range result.Errors {
		errs = append(errs, fieldError(path, err))
	}
	return sorted(errs)
}

// withSkippedRules adds the error with which kube-apiserver says that it has not evaluated
// x-kubernetes-validations, because other errors come first.
func (s *Schema) withSkippedRules(errs field.ErrorList) field.ErrorList {
	blocking := []field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}
	blocks := func(err *field.Error) bool { return slices.Contains(blocking, err.Type) }
	if s.celRules && slices.ContainsFunc(errs, blocks) {
		errs = append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; "+
			"correct the existing errors to complete validation"))
	}
	return errs
}

// sorted sorts errors by field: they are found in the random order of maps.
func sorted(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return errs
}

// fieldError returns an error of the value at a path as an error of the API.
func fieldError(path *field.Path, err error) *field.Error {
	var invalid *openapierrors.Validation
	if !errors.As(err, &invalid) {
		return field.Invalid(path, "", err.Error())
	}
	if name := strings.TrimPrefix(invalid.Name, "."); name != "" {
		path = path.Child(name)
	}
	value := invalid.Value
	if value == nil {
		value = ""
	}
	limit, _ := invalid.Valid.(int64)
	switch invalid.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(path, invalid.Value, enumText(invalid.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, "", int(limit))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		actual, _ := invalid.Value.(int64)
		return field.TooMany(path, int(actual), int(limit))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, err.Error())
	}
	return field.Invalid(path, value, err.Error())
}

// enumText returns the values of an enum as text: strings as they are, others as JSON.
func enumText(values []any) []string {
	var all []string
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			encoded, _ := json.Marshal(value) // from JSON
			text = string(encoded)
		}
		all = append(all, text)
	}
	return all
}
