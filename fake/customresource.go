// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
}

// Definition returns the CustomResourceDefinition. Its schema accepts any field, and a real API
// server accepts it too.
func (c CustomResource) Definition() *unstructured.Unstructured {
	singular := strings.ToLower(c.Kind)
	plural := c.Plural
	if plural == "" {
		plural = singular + "s"
	}
	scope := "Namespaced"
	if c.ClusterScoped {
		scope = "Cluster"
	}
	var versions []any
	for i, name := range c.Versions {
		versions = append(versions, c.version(name, i == 0))
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
	}}
}

func (c CustomResource) version(name string, storage bool) map[string]any {
	version := map[string]any{
		"name": name, "served": true, "storage": storage,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
	}
	if c.StatusSubresource {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return version
}
