// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const rules = `
type: object
required: [spec]
properties:
  spec:
    type: object
    maxProperties: 9
    properties:
      size: {type: integer, minimum: 1, maximum: 10}
      mode: {type: string, enum: [fast, slow]}
      level: {type: integer, enum: [1, 2]}
      note: {type: string, maxLength: 3, nullable: true}
      port: {x-kubernetes-int-or-string: true, pattern: "^[0-9]+$"}
      day: {type: string, format: date}
      hue: {type: string, format: none-such}
      flag: {type: boolean, format: none-such}
      share: {type: number, exclusiveMaximum: true, maximum: 0.5}
      words: {type: array, maxItems: 2, items: {type: string, minLength: 2}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      parts: &parts
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer, minimum: 0}}}
      named: {type: object, additionalProperties: {type: integer, minimum: 1}}
      listed: {type: object, additionalProperties: *parts}
      any: {type: object, minProperties: 1, additionalProperties: true}
      open: {type: object, maxProperties: 1, x-kubernetes-preserve-unknown-fields: true}
      one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
      never: {type: object, properties: {a: {type: string}}, not: {required: [a]}}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
  status:
    type: object
    properties:
      phase: {type: string, enum: ["On"]}
      parts: *parts
`

func parseRules(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Parse(parseYAML(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// describe returns the types and fields of errors, which are the causes of a response.
func describe(errs field.ErrorList) string {
	var all []string
	for _, err := range errs {
		all = append(all, string(err.Type)+" "+err.Field)
	}
	return strings.Join(all, ", ")
}

// The wanted errors are those of kube-apiserver, see the script validation in test/conformance.
func TestValidate(t *testing.T) {
	schema := parseRules(t, rules)
	for object, want := range map[string]string{
		`{}`: "FieldValueRequired spec",
		`{"spec":{"size":1,"mode":"fast","level":2,"note":null,"port":80,"day":"2026-01-02","hue":"x","share":0.1,"words":["ab"]}}`: "",
		`{"spec":1}`:                             "FieldValueTypeInvalid spec",
		`{"spec":{"size":0}}`:                    "FieldValueInvalid spec.size",
		`{"spec":{"size":"x"}}`:                  "FieldValueTypeInvalid spec.size",
		`{"spec":{"mode":"x","size":11}}`:        "FieldValueNotSupported spec.mode, FieldValueInvalid spec.size",
		`{"spec":{"level":3}}`:                   "FieldValueNotSupported spec.level",
		`{"spec":{"note":"long"}}`:               "FieldValueTooLong spec.note",
		`{"spec":{"port":"x"}}`:                  "FieldValueInvalid spec.port",
		`{"spec":{"port":true}}`:                 "FieldValueTypeInvalid spec.port",
		`{"spec":{"day":"x"}}`:                   "FieldValueTypeInvalid spec.day",
		`{"spec":{"hue":1}}`:                     "FieldValueTypeInvalid spec.hue",
		`{"spec":{"flag":"x"}}`:                  "FieldValueTypeInvalid spec.flag",
		`{"spec":{"share":0.5}}`:                 "FieldValueInvalid spec.share",
		`{"spec":{"words":["ab","ab","ab"]}}`:    "FieldValueTooMany spec.words",
		`{"spec":{"words":["a"]}}`:               "FieldValueInvalid spec.words[0]",
		`{"spec":{"tags":["a","b","a","a"]}}`:    "FieldValueDuplicate spec.tags[2]",
		`{"spec":{"parts":[{},{}]}}`:             "FieldValueRequired spec.parts[0].name, FieldValueRequired spec.parts[1].name, FieldValueDuplicate spec.parts[1]",
		`{"spec":{"parts":[1]}}`:                 "FieldValueTypeInvalid spec.parts[0], FieldValueInvalid spec.parts[0]",
		`{"spec":{"named":{"a":0}}}`:             "FieldValueInvalid spec.named.a",
		`{"spec":{"any":{}}}`:                    "FieldValueInvalid spec.any",
		`{"spec":{"open":{"a":1,"b":2}}}`:        "FieldValueTooMany spec.open",
		`{"spec":{"one":{}}}`:                    "FieldValueInvalid <nil>, FieldValueRequired spec.one.a",
		`{"spec":{"never":{"a":"x"}}}`:           "FieldValueInvalid <nil>",
		`{"status":{"phase":"Off"},"spec":{}}`:   "FieldValueNotSupported status.phase",
		`{"spec":{"template":{}}}`:               "FieldValueRequired spec.template.apiVersion, FieldValueRequired spec.template.kind",
		`{"spec":{"template":{"apiVersion":1}}}`: "FieldValueInvalid spec.template.apiVersion, FieldValueRequired spec.template.kind",
		`{"spec":{"template":{"apiVersion":"a/b/c","kind":"_","metadata":{"labels":{"a b":"c"}}}}}`: "FieldValueInvalid spec.template.apiVersion, " +
			"FieldValueInvalid spec.template.kind, FieldValueInvalid spec.template.metadata.labels",
		`{"spec":{"template":{"apiVersion":"v1","kind":"","metadata":1}}}`:             "FieldValueInvalid spec.template.kind, FieldValueInvalid spec.template.metadata",
		`{"spec":{"template":{"apiVersion":"v1","kind":"A","metadata":{"labels":1}}}}`: "FieldValueInvalid spec.template.metadata",
		`{"spec":{"template":{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}}}`: "",
		`{"spec":{"listed":{"x":[{"name":"a"},{"name":"a"}]},"tags":["a","a"]}}`:       "FieldValueDuplicate spec.listed[x][1], FieldValueDuplicate spec.tags[1]",
		`{"spec":{"parts":[{"name":"a","weight":-1},{"name":"a"},null]}}`:              "FieldValueInvalid spec.parts[0].weight, FieldValueTypeInvalid spec.parts[2], FieldValueDuplicate spec.parts[1]",
	} {
		if diff := cmp.Diff(want, describe(schema.Validate(parseYAML(t, object), nil))); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", object, diff)
		}
	}
}

func TestUpdateKeepsUnchangedInvalidValues(t *testing.T) {
	schema := parseRules(t, rules)
	for _, tc := range []struct{ name, current, next, want string }{
		{"unchanged", `{"spec":{"size":0}}`, `{"spec":{"size":0}}`, ""},
		{"another field changed", `{"spec":{"size":0,"mode":"fast"}}`, `{"spec":{"size":0,"mode":"slow"}}`, ""},
		{"changed", `{"spec":{"size":0}}`, `{"spec":{"size":-1}}`, "FieldValueInvalid spec.size"},
		{"new", `{"spec":{}}`, `{"spec":{"size":0}}`, "FieldValueInvalid spec.size"},
		{"list", `{"spec":{"words":["a"],"size":1}}`, `{"spec":{"words":["a"]}}`, ""},
		{"changed list", `{"spec":{"words":["a"]}}`, `{"spec":{"words":["a","ab"]}}`, "FieldValueInvalid spec.words[0]"},
		{
			"items with keys", `{"spec":{"parts":[{"name":"a","weight":-1},{"name":"b","weight":-1}]}}`,
			`{"spec":{"parts":[{"name":"b","weight":-1},{"name":"a","weight":-2},{"name":"c","weight":-1}]}}`,
			"FieldValueInvalid spec.parts[1].weight, FieldValueInvalid spec.parts[2].weight",
		},
		{"additional properties", `{"spec":{"named":{"a":0,"b":0}}}`, `{"spec":{"named":{"a":0,"b":-1}}}`, "FieldValueInvalid spec.named.b"},
		{"object", `{"spec":{"one":{"a":"x","b":"y"}}}`, `{"spec":{"one":{"a":"x","b":"y"},"size":1}}`, ""},
		{"changed object", `{"spec":{"one":{"a":"x","b":"y"}}}`, `{"spec":{"one":{"a":"x","b":"z"}}}`, "FieldValueInvalid <nil>"},
		{"object with unspecified fields", `{"spec":{"open":{"a":1,"b":2}}}`, `{"spec":{"open":{"a":1,"b":2},"size":1}}`, "FieldValueTooMany spec.open"},
		{"missing field", `{"spec":{"parts":[{"weight":1}]}}`, `{"spec":{"parts":[{"weight":1}],"size":1}}`, "FieldValueRequired spec.parts[0].name"},
		{"duplicates", `{"spec":{"tags":["a","a"]}}`, `{"spec":{"tags":["a","b","b"]}}`, ""},
		{"new duplicates", `{"spec":{"tags":["a"]}}`, `{"spec":{"tags":["a","a"]}}`, "FieldValueDuplicate spec.tags[1]"},
		{
			"embedded resource", `{"spec":{"template":{"apiVersion":"v1"}}}`, `{"spec":{"template":{"apiVersion":"v1"}}}`,
			"FieldValueRequired spec.template.kind",
		},
		{"root", `{"metadata":{}}`, `{"metadata":{}}`, "FieldValueRequired spec"},
	} {
		got := describe(schema.ValidateUpdate(parseYAML(t, tc.next), parseYAML(t, tc.current), nil))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", tc.name, diff)
		}
	}
}

// Items with a key that the list may leave out are not compared with an item without one.
func TestItemsOfSeveralKeysAreComparedByAll(t *testing.T) {
	schema := parseRules(t, `
properties:
  ports:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port, protocol]
    items: {type: object, properties: {port: {type: integer}, protocol: {type: string}, name: {type: string, maxLength: 1}}}
`)
	current := parseYAML(t, `{"ports":[{"port":1,"protocol":"TCP","name":"ab"},{"port":1,"protocol":"UDP","name":"cd"},{"port":2,"name":"ef"}]}`)
	next := parseYAML(t, `{"ports":[{"port":1,"protocol":"UDP","name":"cd"},{"port":1,"protocol":"TCP","name":"cd"},{"port":2,"name":"ef"}]}`)
	const want = "FieldValueTooLong ports[1].name, FieldValueTooLong ports[2].name"
	if got := describe(schema.ValidateUpdate(next, current, nil)); got != want {
		t.Errorf("got errors %s, want %s", got, want)
	}
}

func TestStatusIsValidatedAlone(t *testing.T) {
	schema := parseRules(t, rules)
	current := parseYAML(t, `{"spec":{"size":0},"status":{"phase":"Off","parts":[]}}`)
	for status, want := range map[string]string{
		`{"phase":"Off"}`: "",
		`{"phase":"Up"}`:  "FieldValueNotSupported status.phase",
		`"On"`:            "FieldValueTypeInvalid status",
		`{"parts":[{"name":"a","weight":-1},{"name":"a"}]}`: "FieldValueInvalid status.parts[0].weight, FieldValueDuplicate status.parts[1]",
	} {
		next := parseYAML(t, `{"spec":{"size":-1},"status":`+status+`}`)
		if got := describe(schema.ValidateStatus(next, current, nil)); got != want {
			t.Errorf("%s: got errors %q, want %q", status, got, want)
		}
	}
	if errs := schema.ValidateStatus(parseYAML(t, `{"spec":{"size":-1}}`), current, nil); len(errs) > 0 {
		t.Errorf("without a status: got errors %v, want none", errs)
	}
}

// Where kube-apiserver would have to evaluate rules in CEL, and errors keep it from doing so, it
// says so with an error that has no field.
func TestSkippedRulesAreAnError(t *testing.T) {
	for text, want := range map[string]string{
		`{properties: {a: {type: integer, maximum: 1, x-kubernetes-validations: [{rule: self > 0}]}}}`: "x: FieldValueTypeInvalid a, FieldValueInvalid <nil>; 2: FieldValueInvalid a",
		`{properties: {a: {type: integer, maximum: 1}}}`:                                               "x: FieldValueTypeInvalid a; 2: FieldValueInvalid a",
	} {
		schema := parseRules(t, text)
		got := "x: " + describe(schema.Validate(map[string]any{"a": "x"}, nil)) + "; 2: " + describe(schema.Validate(map[string]any{"a": int64(2)}, nil))
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestRulesInCELAreFound(t *testing.T) {
	const rule = `{x-kubernetes-validations: [{rule: "true"}]}`
	for text, want := range map[string]bool{
		`{}`: false, `{x-kubernetes-validations: []}`: false, rule: true, `{items: ` + rule + `}`: true,
		`{additionalProperties: ` + rule + `}`: true, `{properties: {a: {}, b: ` + rule + `}}`: true,
	} {
		if got := parseRules(t, text).HasCELRules(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if (*Schema)(nil).HasCELRules() {
		t.Error("without a schema: got rules")
	}
}

func TestErrorsOfMetadataComeFirst(t *testing.T) {
	schema := parseRules(t, rules)
	metadata := field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), "A", "")}
	object := parseYAML(t, `{"spec":{"size":0}}`)
	const want = "FieldValueInvalid metadata.name, FieldValueInvalid spec.size"
	if got := describe(schema.Validate(object, metadata)); got != want {
		t.Errorf("create: got %s, want %s", got, want)
	}
	if got := describe(schema.ValidateUpdate(object, map[string]any{}, metadata)); got != want {
		t.Errorf("update: got %s, want %s", got, want)
	}
	if got := describe((*Schema)(nil).Validate(object, metadata)); got != "FieldValueInvalid metadata.name" {
		t.Errorf("without a schema: got %s", got)
	}
}
