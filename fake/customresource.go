package fake

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CustomResource describes a custom resource in the few words that matter to a test. Whoever needs more of a CustomResourceDefinition creates that,
// as unstructured object, through a client or with [APIServer.Create].
type CustomResource struct {
	Group    string
	Versions []string // all served, the first one stored
	Kind     string
	Plural   string // the resource's name; the lower-case kind with an s if empty
	Cluster  bool   // objects are in no namespace
	Status   bool   // there is a status subresource
}

// Definition returns the CustomResourceDefinition, which accepts any fields, so that it can be created on a real server too.
func (c CustomResource) Definition() *unstructured.Unstructured {
	singular := strings.ToLower(c.Kind)
	plural := c.Plural
	if plural == "" {
		plural = singular + "s"
	}
	scope := "Namespaced"
	if c.Cluster {
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
	if c.Status {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return version
}
