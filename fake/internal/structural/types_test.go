// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gear"}

func TestTypesHaveMetadata(t *testing.T) {
	parsed, err := Parse(parseYAML(t, example))
	if err != nil {
		t.Fatal(err)
	}
	beta := kind
	beta.Version = "v1beta1"
	types, err := Types(map[schema.GroupVersionKind]*Schema{kind: parsed, beta: nil})
	if err != nil {
		t.Fatal(err)
	}
	object := parseYAML(t, `
apiVersion: example.com/v1
kind: Gear
metadata: {name: a, labels: {a: b}, finalizers: [example.com/f]}
spec:
  size: 1
  parts: [{name: a}]
  template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {any: 1}}
  open: {any: [1], closed: {a: b}}
`)
	if _, err := types.ObjectToTyped(&unstructured.Unstructured{Object: object}); err != nil {
		t.Error(err)
	}
	object["other"] = "x"
	if _, err := types.ObjectToTyped(&unstructured.Unstructured{Object: object}); err == nil {
		t.Error("field outside of the schema: got no error")
	}
	object["apiVersion"] = "example.com/v1beta1"
	if _, err := types.ObjectToTyped(&unstructured.Unstructured{Object: object}); err == nil {
		t.Error("version without a schema: got no error")
	}
	if parsed.Source()["properties"].(map[string]any)["apiVersion"] != nil {
		t.Error("the schema has been modified")
	}
}

func TestTypesOfAnInvalidSchema(t *testing.T) {
	parsed, err := Parse(parseYAML(t, `{"type":"object","properties":{"a":{"type":"text"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Types(map[schema.GroupVersionKind]*Schema{kind: parsed}); err == nil {
		t.Error("got no error")
	}
}
