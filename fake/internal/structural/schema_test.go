// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// parseYAML parses YAML into an object.
func parseYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "")), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const example = `
type: object
properties:
  metadata: {type: object}
  spec:
    type: object
    properties:
      size: {type: integer, default: 3}
      mode: {type: string, default: fast, nullable: true}
      note: {type: string}
      empty: {type: string, nullable: true}
      limits:
        type: object
        default: {}
        properties:
          cpu: {type: string, default: 100m}
      labels: {type: object, additionalProperties: {type: string, default: none}}
      named:
        type: object
        additionalProperties:
          type: object
          properties:
            weight: {type: integer, default: 1}
      anything: {type: object, additionalProperties: true}
      parts:
        type: array
        items:
          type: object
          properties:
            name: {type: string}
            color: {type: string, default: red}
      words: {type: array, items: {type: string, default: empty}}
      open:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          closed: {type: object, properties: {a: {type: string}}}
      template:
        type: object
        x-kubernetes-embedded-resource: true
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
      kept:
        type: array
        x-kubernetes-preserve-unknown-fields: true
        items: {type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}
  status:
    type: object
    properties:
      phase: {type: string, default: Pending}
`

// Each object is pruned and then defaulted. The wanted results are those of kube-apiserver for the
// same schema, see the script schema in test/conformance.
func TestPruneAndDefault(t *testing.T) {
	schema, err := Parse(parseYAML(t, example))
	if err != nil {
		t.Fatal(err)
	}
	const defaults = `"limits":{"cpu":"100m"},"mode":"fast","size":3`
	for _, tc := range []struct{ name, object, want, unknown string }{
		{"absent objects get no defaults", `{}`, `{}`, ""},
		{"empty object", `{"spec":{}}`, `{"spec":{` + defaults + `}}`, ""},
		{"values are kept", `{"spec":{"size":0,"mode":"","limits":{"cpu":"1"}}}`, `{"spec":{"limits":{"cpu":"1"},"mode":"","size":0}}`, ""},
		{"null is replaced, or kept if nullable", `{"spec":{"size":null,"mode":null}}`, `{"spec":{"limits":{"cpu":"100m"},"mode":null,"size":3}}`, ""},
		{"null without default", `{"spec":{"note":null,"empty":null}}`, `{"spec":{"empty":null,` + defaults + `}}`, ""},
		{
			"unknown fields", `{"spec":{"other":{"a":1},"parts":[{"name":"a","x":1}]},"top":1}`,
			`{"spec":{` + `"limits":{"cpu":"100m"},"mode":"fast","parts":[{"color":"red","name":"a"}],"size":3}}`, "spec.other,spec.parts[0].x,top",
		},
		{
			"metadata and type of the root", `{"apiVersion":"a/v1","kind":"A","metadata":{"name":"a","x":null,"labels":{"a":"b"}}}`,
			`{"apiVersion":"a/v1","kind":"A","metadata":{"labels":{"a":"b"},"name":"a","x":null}}`, "",
		},
		{"status", `{"status":{"x":1}}`, `{"status":{"phase":"Pending"}}`, "status.x"},
		{
			"additional properties", `{"spec":{"labels":{"a":null,"b":"c"},"named":{"x":{"y":1},"z":null}}}`,
			`{"spec":{"labels":{"a":"none","b":"c"},"limits":{"cpu":"100m"},"mode":"fast","named":{"x":{"weight":1}},"size":3}}`, "spec.named.x.y",
		},
		{
			"any additional properties", `{"spec":{"anything":{"a":"b","c":{"d":1},"e":null}}}`,
			`{"spec":{"anything":{"a":"b","c":{},"e":null},` + defaults + `}}`, "spec.anything.c.d",
		},
		{"items that are null", `{"spec":{"words":["a",null]}}`, `{"spec":{` + defaults + `,"words":["a","empty"]}}`, ""},
		{
			"preserved fields", `{"spec":{"open":{"x":{"y":[{"z":null}]},"closed":{"a":"1","b":"2"}}}}`,
			`{"spec":{"limits":{"cpu":"100m"},"mode":"fast","open":{"closed":{"a":"1"},"x":{"y":[{"z":null}]}},"size":3}}`, "spec.open.closed.b",
		},
		{
			"embedded resource", `{"spec":{"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a":{"b":1}},"x":1}}}`,
			`{"spec":{` + defaults + `,"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a":{"b":1}}}}}`, "spec.template.x",
		},
		{
			"fields of preserved items", `{"spec":{"kept":[{"a":{"b":"1","c":"2"},"x":{"y":1}}]}}`,
			`{"spec":{"kept":[{"a":{"b":"1"},"x":{"y":1}}],` + defaults + `}}`, "spec.kept[0].a.c",
		},
		{"value of another type", `{"spec":"text"}`, `{"spec":"text"}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			object := parseYAML(t, tc.object)
			unknown := schema.Prune(object)
			schema.Default(object)
			got, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if got := strings.Join(unknown, ","); got != tc.unknown {
				t.Errorf("unknown fields: got %q, want %q", got, tc.unknown)
			}
			if again := schema.Prune(object); len(again) > 0 {
				t.Errorf("second prune: got unknown fields %v, want none", again)
			}
		})
	}
}

// A default is copied, so that a change of an object does not change the next one.
func TestDefaultsAreCopied(t *testing.T) {
	schema, err := Parse(parseYAML(t, example))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		object := parseYAML(t, `{"spec":{}}`)
		schema.Default(object)
		limits := object["spec"].(map[string]any)["limits"].(map[string]any)
		if len(limits) != 1 {
			t.Errorf("got %v, want cpu alone", limits)
		}
		limits["memory"] = "1Gi"
	}
}

func TestWithoutSchemaEverythingIsPreserved(t *testing.T) {
	var schema *Schema
	object := parseYAML(t, `{"spec":{"a":null}}`)
	if unknown := schema.Prune(object); len(unknown) > 0 {
		t.Errorf("got unknown fields %v", unknown)
	}
	schema.Default(object)
	if diff := cmp.Diff(parseYAML(t, `{"spec":{"a":null}}`), object); diff != "" || schema.Source() != nil {
		t.Errorf("got source %v and object (-want +got):\n%s", schema.Source(), diff)
	}
}

func TestParseErrorsNameTheField(t *testing.T) {
	for want, text := range map[string]string{
		"openAPIV3Schema.properties is string":                          `{"properties":"text"}`,
		"openAPIV3Schema.properties.spec is int64":                      `{"properties":{"spec":1}}`,
		"openAPIV3Schema.properties.a.items.properties is []":           `{"properties":{"a":{"items":{"properties":[]}}}}`,
		"openAPIV3Schema.type is int64, want string":                    `{"type":1}`,
		"openAPIV3Schema.properties.a.maximum is string":                `{"properties":{"a":{"maximum":"1"}}}`,
		"openAPIV3Schema.properties.a.maxLength is bool":                `{"properties":{"a":{"maxLength":true}}}`,
		"openAPIV3Schema.required is []interface {}, want a list of st": `{"required":[1]}`,
		"openAPIV3Schema.items.anyOf[1].pattern is int64":               `{"items":{"anyOf":[{},{"pattern":1}]}}`,
		"openAPIV3Schema.not.enum is string":                            `{"not":{"enum":"a"}}`,
		"openAPIV3Schema.properties.a.$ref is not allowed":              `{"properties":{"a":{"$ref":"#/definitions/a"}}}`,
		"openAPIV3Schema.items is string":                               `{"items":"text"}`,
		"openAPIV3Schema.properties.a.additionalProperties is []":       `{"properties":{"a":{"additionalProperties":[]}}}`,
	} {
		if _, err := Parse(parseYAML(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", text, err, want)
		}
	}
}
