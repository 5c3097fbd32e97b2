// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/structural"
)

// Definitions returns the resource of CustomResourceDefinitions. They are unstructured, because
// client-go has no type for them.
func Definitions() *Resource {
	kind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	r := newCustom(kind, kind, "customresourcedefinitions")
	r.HasStatus = true
	r.ShortNames, r.Categories = shortNamesOf(r.GroupResource()), categoriesOf(r.GroupResource())
	r.Rules = Rules{Generation: true, NeedsVersion: true, StatusKeepsMetadata: true}
	return r
}

// definition is the part of a CustomResourceDefinition that this package uses. The
// conversion is ignored.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			Kind       string   `json:"kind"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Scope    string              `json:"scope"`
		Versions []definitionVersion `json:"versions"`
	} `json:"spec"`
}

type definitionVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	Schema  struct {
		OpenAPI map[string]any `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status map[string]any `json:"status"`
	} `json:"subresources"`
	Selectable []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// CustomResource is what a CustomResourceDefinition defines.
type CustomResource struct {
	// Served are the resources of the served versions.
	Served []*Resource
	// Stored is the resource of the storage version, in which the objects of all versions are
	// stored. That version need not be served.
	Stored *Resource
}

// FromDefinition returns the resources of a CustomResourceDefinition. The error names the field
// that is missing or invalid.
func FromDefinition(obj history.Object) (*CustomResource, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("read CustomResourceDefinition: got %T, want *unstructured.Unstructured", obj)
	}
	var d definition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		return nil, fmt.Errorf("spec of CustomResourceDefinition %q: %w", obj.GetName(), err)
	}
	if err := d.check(obj.GetName()); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %q: %w", obj.GetName(), err)
	}
	return d.resources()
}

// check validates the fields that this package uses.
func (d *definition) check(name string) error {
	s := &d.Spec
	stored := 0
	for _, v := range s.Versions {
		if v.Name == "" {
			return errors.New("spec.versions: version name is required")
		}
		if v.Storage {
			stored++
		}
	}
	switch {
	case s.Group == "":
		return errors.New("spec.group is required")
	case s.Names.Plural == "" || s.Names.Kind == "":
		return errors.New("spec.names.plural and spec.names.kind are required")
	case s.Scope != "Namespaced" && s.Scope != "Cluster":
		return fmt.Errorf("spec.scope: got %q, want Namespaced or Cluster", s.Scope)
	case stored != 1:
		return fmt.Errorf("spec.versions: got %d storage versions, want exactly one", stored)
	case name != s.Names.Plural+"."+s.Group:
		return fmt.Errorf("metadata.name: got %q, want %q, which is spec.names.plural+\".\"+spec.group", name, s.Names.Plural+"."+s.Group)
	}
	return nil
}

func (d *definition) resources() (*CustomResource, error) {
	kind := schema.GroupVersionKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
	stored := kind
	for _, v := range d.Spec.Versions {
		if v.Storage {
			stored.Version = v.Name
		}
	}
	defined := &CustomResource{}
	for _, v := range d.Spec.Versions {
		kind.Version = v.Name
		r, err := d.resource(v, kind, stored)
		if err != nil {
			return nil, err
		}
		if v.Served {
			defined.Served = append(defined.Served, r)
		}
		if v.Storage {
			defined.Stored = r
		}
	}
	defined.Stored.StoredSchema = defined.Stored.Schema
	for _, r := range defined.Served {
		r.StoredSchema = defined.Stored.Schema
		r.converts = !apiequality.Semantic.DeepEqual(r.Schema.Source(), r.StoredSchema.Source())
	}
	return defined, nil
}

// resource returns the resource of a version.
func (d *definition) resource(v definitionVersion, kind, stored schema.GroupVersionKind) (*Resource, error) {
	r := newCustom(kind, stored, d.Spec.Names.Plural)
	if d.Spec.Names.Singular != "" {
		r.Singular = d.Spec.Names.Singular
	}
	r.ShortNames, r.Categories = d.Spec.Names.ShortNames, d.Spec.Names.Categories
	r.Namespaced = d.Spec.Scope == "Namespaced"
	r.HasStatus = v.Subresources.Status != nil
	r.Rules = Rules{Generation: true, NeedsVersion: true, StatusKeepsMetadata: true, KeepsStatus: !r.HasStatus}
	for _, field := range v.Selectable {
		r.Selectable = append(r.Selectable, strings.TrimPrefix(field.JSONPath, "."))
	}
	if v.Schema.OpenAPI != nil {
		s, err := structural.Parse(v.Schema.OpenAPI)
		if err != nil {
			return nil, fmt.Errorf("schema of version %s: %w", v.Name, err)
		}
		r.Schema = s
	}
	return r, nil
}

// newCustom returns a resource of unstructured objects.
func newCustom(kind, stored schema.GroupVersionKind, plural string) *Resource {
	list := kind.GroupVersion().WithKind(kind.Kind + "List")
	return &Resource{
		GroupVersionResource: kind.GroupVersion().WithResource(plural),
		Kind:                 kind,
		Stored:               stored,
		Singular:             strings.ToLower(kind.Kind),
		Custom:               true,
		New: func() history.Object {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetGroupVersionKind(stored)
			return u
		},
		newList: func() runtime.Object {
			u := &unstructured.UnstructuredList{Object: map[string]any{}}
			u.SetGroupVersionKind(list)
			return u
		},
	}
}
