// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Scheme returns a scheme with the built-in types and those of an operator.
func Scheme(add func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), add(scheme)); err != nil {
		panic(err) // of two types with one name
	}
	return scheme
}

// Parse returns the object of a YAML document. It panics if there is none.
func Parse(document string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(document), &obj.Object); err != nil {
		panic(err)
	}
	if obj.GetKind() == "" {
		panic("simulated: a document without a kind")
	}
	return obj
}

// Template returns a function that replaces words of a YAML document, given in pairs with their
// values, and returns the object.
func Template(document string) func(oldnew ...string) *unstructured.Unstructured {
	return func(oldnew ...string) *unstructured.Unstructured {
		return Parse(strings.NewReplacer(oldnew...).Replace(document))
	}
}
