// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Types returns the types of a custom resource's versions, by which server-side apply merges
// objects and managedFields name fields. A version without a schema has none.
func Types(versions map[schema.GroupVersionKind]*Schema) (managedfields.TypeConverter, error) {
	models := map[string]any{objectMeta: json.RawMessage(objectMetaModel)}
	for kind, s := range versions {
		if s == nil {
			continue
		}
		model := withMeta(s.source, true)
		model["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}}
		models[kind.Version+"."+kind.Kind] = model
	}
	return convert(managedfields.NewTypeConverter, models)
}

// convert passes models to a function that takes them as T, the schema type of kube-openapi.
func convert[T any](build func(map[string]*T, bool) (managedfields.TypeConverter, error), models map[string]any) (managedfields.TypeConverter, error) {
	text, err := json.Marshal(models)
	if err != nil {
		return nil, fmt.Errorf("encode schemas: %w", err)
	}
	var decoded map[string]*T
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, fmt.Errorf("decode schemas: %w", err)
	}
	return build(decoded, false)
}

// withMeta returns a copy of a schema's JSON with kind, apiVersion and metadata in the properties
// of embedded resources and, if embedded is set, of the schema itself.
func withMeta(source map[string]any, embedded bool) map[string]any {
	model := maps.Clone(source)
	for _, field := range []string{"items", "additionalProperties"} {
		if inner, ok := source[field].(map[string]any); ok {
			model[field] = withMeta(inner, false)
		}
	}
	embedded = embedded || source["x-kubernetes-embedded-resource"] == true
	properties, ok := source["properties"].(map[string]any)
	if !ok && !embedded {
		return model
	}
	all := make(map[string]any, len(properties)+3)
	for name, property := range properties {
		if property, ok := property.(map[string]any); ok {
			all[name] = withMeta(property, false)
		}
	}
	if embedded {
		all["apiVersion"], all["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
		all["metadata"] = map[string]any{"$ref": "#/components/schemas/" + objectMeta}
	}
	model["properties"] = all
	return model
}

// objectMeta is the name of the model of metav1.ObjectMeta.
const (
	objectMeta      = "ObjectMeta"
	objectMetaModel = `{"type":"object","properties":{
		"annotations":{"type":"object","additionalProperties":{"type":"string"}},
		"creationTimestamp":{"type":"string"},
		"deletionGracePeriodSeconds":{"type":"integer"},
		"deletionTimestamp":{"type":"string"},
		"finalizers":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
		"generateName":{"type":"string"},
		"generation":{"type":"integer"},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},
		"managedFields":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"object","properties":{
			"apiVersion":{"type":"string"},"fieldsType":{"type":"string"},"fieldsV1":{"type":"object"},"manager":{"type":"string"},
			"operation":{"type":"string"},"subresource":{"type":"string"},"time":{"type":"string"}}}},
		"name":{"type":"string"},
		"namespace":{"type":"string"},
		"ownerReferences":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["uid"],
			"items":{"type":"object","x-kubernetes-map-type":"atomic","properties":{
				"apiVersion":{"type":"string"},"blockOwnerDeletion":{"type":"boolean"},"controller":{"type":"boolean"},
				"kind":{"type":"string"},"name":{"type":"string"},"uid":{"type":"string"}}}},
		"resourceVersion":{"type":"string"},
		"selfLink":{"type":"string"},
		"uid":{"type":"string"}}}`
)
