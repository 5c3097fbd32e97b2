// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package fields lets a test do something for each field of a struct, so that it fails for a field
// that is added later and forgotten elsewhere.
package fields

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Leaves returns the paths of the fields of a struct type, such as "Requests.Lists". A struct of
// this module is not a leaf, but its fields are.
func Leaves(structType reflect.Type) (paths []string) {
	for _, field := range reflect.VisibleFields(structType) {
		switch {
		case len(field.Index) > 1 || !field.IsExported(): // a promoted field
		case field.Type.Kind() == reflect.Struct && strings.HasPrefix(field.Type.PkgPath(), "github.com/kinformer/kinformer/"):
			for _, path := range Leaves(field.Type) {
				paths = append(paths, field.Name+"."+path)
			}
		default:
			paths = append(paths, field.Name)
		}
	}
	return paths
}

// Of returns a field of a struct, to which pointer points.
func Of(pointer any, path string) reflect.Value {
	value := reflect.ValueOf(pointer).Elem()
	for name := range strings.SplitSeq(path, ".") {
		value = value.FieldByName(name)
	}
	return value
}

// Set gives a field a value that is not zero. A map or slice gets one element.
func Set(pointer any, path string) {
	field := Of(pointer, path)
	field.Set(nonZero(field.Type()))
}

// SetAll does so with each field.
func SetAll(pointer any) {
	for _, path := range Leaves(reflect.TypeOf(pointer).Elem()) {
		Set(pointer, path)
	}
}

func nonZero(of reflect.Type) reflect.Value {
	value := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Bool:
		value.SetBool(true)
	case reflect.String:
		value.SetString("1")
	case reflect.Int, reflect.Int64:
		value.SetInt(1)
	case reflect.Uint32, reflect.Uint64:
		value.SetUint(1)
	case reflect.Map:
		value.Set(reflect.MakeMap(of))
		value.SetMapIndex(nonZero(of.Key()), nonZero(of.Elem()))
	case reflect.Slice:
		value.Set(reflect.Append(value, nonZero(of.Elem())))
	case reflect.Interface:
		value.Set(reflect.ValueOf(errors.New("1")))
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return reflect.ValueOf(time.Unix(1, 0))
		}
		for _, path := range Leaves(of) {
			Set(value.Addr().Interface(), path)
		}
	default:
		panic(fmt.Sprintf("no value of type %s", of))
	}
	return value
}
