// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// CustomResource describes a custom resource for a test. For a CustomResourceDefinition with other
// settings, create the definition as an unstructured object, through a client or with
// [APIServer.Create].
type CustomResource struct {
	// Group is the API group, for example "example.com".
	Group string
	// Versions lists the versions, all of which are served. The first one is the storage version.
	Versions []string
	// Kind is the kind of the objects, for example "Widget".
	Kind string
	// Plural is the name of the resource. If empty, it is the lower-case kind followed by "s".
	Plural string
	// ClusterScoped makes the resource cluster-scoped. It is namespaced otherwise.
	ClusterScoped bool
	// StatusSubresource enables the status subresource.
	StatusSubresource bool
	// Schema is the structural OpenAPI v3 schema of all versions, in YAML or JSON, as under
	// openAPIV3Schema in a CustomResourceDefinition. If empty, any field is accepted.
	//
	// The server removes fields that are not in the schema and sets defaults, as kube-apiserver
	// does, when objects are written, and when they are read after a change of the schema. It never
	// removes fields of metadata. It refuses a request whose values do not match the schema with
	// 422; see [APIServer] for what it does not validate.
	Schema string
}

// Definition returns the CustomResourceDefinition. A real API server accepts it, too. It panics if
// Schema is not the YAML or JSON of an object.
func (c CustomResource) Definition() *unstructured.Unstructured {
	definition, err := c.definition()
	if err != nil {
		panic(err)
	}
	return definition
}

func (c CustomResource) definition() (*unstructured.Unstructured, error) {
	singular := strings.ToLower(c.Kind)
	plural := c.Plural
	if plural == "" {
		plural = singular + "s"
	}
	scope := "Namespaced"
	if c.ClusterScoped {
		scope = "Cluster"
	}
	schema, err := c.schema()
	if err != nil {
		return nil, fmt.Errorf("define custom resource %s.%s: %w", plural, c.Group, err)
	}
	var versions []any
	for i, name := range c.Versions {
		versions = append(versions, c.version(name, i == 0, schema))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + "." + c.Group},
		"spec": map[string]any{
			"group":    c.Group,
			"names":    map[string]any{"plural": plural, "singular": singular, "kind": c.Kind, "listKind": c.Kind + "List"},
			"scope":    scope,
			"versions": versions,
		},
	}}, nil
}

// schema returns the schema in the form of unstructured objects.
func (c CustomResource) schema() (schema map[string]any, err error) {
	if c.Schema == "" {
		return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, nil
	}
	if err := yaml.Unmarshal([]byte(c.Schema), &schema); err != nil {
		return nil, fmt.Errorf("decode Schema: %w", err)
	}
	return schema, nil
}

func (c CustomResource) version(name string, storage bool, schema map[string]any) map[string]any {
	version := map[string]any{
		"name": name, "served": true, "storage": storage,
		"schema": map[string]any{"openAPIV3Schema": runtime.DeepCopyJSON(schema)},
	}
	if c.StatusSubresource {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return version
}
