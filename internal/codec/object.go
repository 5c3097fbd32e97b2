// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Key returns "namespace/name", or "name" of an object without namespace.
func Key(obj metav1.Object) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}

// QuotedName returns a space and the quoted key of an object, to append to its type in an error;
// nothing for an object without a name.
func QuotedName(obj any) string {
	if object, ok := obj.(metav1.Object); ok && !IsNil(obj) && object.GetName() != "" {
		return fmt.Sprintf(" %q", Key(object))
	}
	return ""
}

// IsNil reports whether obj is nil, or an interface that holds a nil pointer, func, map, slice or
// channel.
func IsNil(obj any) bool {
	if obj == nil {
		return true
	}
	switch v := reflect.ValueOf(obj); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
