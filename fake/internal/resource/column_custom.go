// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// columns returns the name column and the additionalPrinterColumns of a definition's version, or
// the name and age columns if it has none.
func (v *definitionVersion) columns() ([]Column, error) {
	columns := []Column{nameColumn()}
	for _, wanted := range v.Columns {
		path := jsonpath.New(wanted.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + wanted.JSONPath + "}"); err != nil {
			return nil, fmt.Errorf("additionalPrinterColumns of version %s: jsonPath %q: %w", v.Name, wanted.JSONPath, err)
		}
		c := column(wanted.Name, wanted.Type, func(obj history.Object) any { return customCell(path, wanted.Type, obj) })
		c.Format, c.Priority = wanted.Format, wanted.Priority
		columns = append(columns, c)
	}
	if len(columns) == 1 {
		age := ageColumn()
		age.Type = "date"
		columns = append(columns, age)
	}
	return columns, nil
}

// customCell returns the value at a path, or nil if it is absent or its type is not the column's.
// It is safe for concurrent use, because evaluating a path does not modify it.
func customCell(path *jsonpath.JSONPath, columnType string, obj history.Object) any {
	results, err := path.FindResults(obj.(*unstructured.Unstructured).Object)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	value := results[0][0].Interface()
	if columnType == "string" {
		var text bytes.Buffer
		if err := path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
			return nil
		}
		return text.String()
	}
	return convertCell(columnType, value)
}

// convertCell returns a value as a cell of the column's type, or nil if the types do not match.
func convertCell(columnType string, value any) any {
	switch typed := value.(type) {
	case int64:
		if columnType == "number" {
			return float64(typed)
		}
		return ifType(columnType, "integer", typed)
	case float64:
		if columnType == "integer" {
			return int64(typed)
		}
		return ifType(columnType, "number", typed)
	case bool:
		return ifType(columnType, "boolean", typed)
	case string:
		if columnType != "date" {
			return nil
		}
		var stamp metav1.Time
		if err := stamp.UnmarshalQueryParameter(typed); err != nil {
			return "<invalid>"
		}
		return age(stamp)
	}
	return nil
}

func ifType(columnType, want string, value any) any {
	if columnType != want {
		return nil
	}
	return value
}
