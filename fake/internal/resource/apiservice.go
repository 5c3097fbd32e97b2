// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// APIServices returns the resource of APIServices. They are unstructured, because client-go has no
// type for them.
func APIServices() *Resource {
	kind := schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	r := newCustom(kind, kind, "apiservices")
	r.HasStatus = true
	r.Categories = categoriesOf(r.GroupResource())
	r.Rules = Rules{NeedsVersion: true, StatusKeepsMetadata: true}
	return r
}

// isUnstructuredBuiltIn reports whether a group is built in although its objects are unstructured.
func isUnstructuredBuiltIn(group string) bool {
	return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}

// APIService is what an APIService says about its group and version.
type APIService struct {
	schema.GroupVersion
	Priority Priority
	// Service is the namespace and name of the Service that an aggregated API server is behind. It
	// is empty for a group and version that the server itself serves.
	Service string
	// Available is the status of the condition Available, which is empty at first.
	Available string
}

// FromAPIService reads an APIService. The error names the field that is missing or invalid.
func FromAPIService(obj history.Object) (*APIService, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("read APIService: got %T, want *unstructured.Unstructured", obj)
	}
	var a apiService
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &a); err != nil {
		return nil, fmt.Errorf("APIService %q: %w", obj.GetName(), err)
	}
	if err := a.check(obj.GetName()); err != nil {
		return nil, fmt.Errorf("APIService %q: %w", obj.GetName(), err)
	}
	read := &APIService{
		GroupVersion: schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version},
		Priority:     Priority{Group: a.Spec.GroupPriority, Version: a.Spec.VersionPriority},
	}
	if a.Spec.Service != nil {
		read.Service = a.Spec.Service.Namespace + "/" + a.Spec.Service.Name
	}
	for _, condition := range a.Status.Conditions {
		if condition.Type == "Available" {
			read.Available = condition.Status
		}
	}
	return read, nil
}

// apiService is the part of an APIService that this package uses.
type apiService struct {
	Spec struct {
		Group           string `json:"group"`
		Version         string `json:"version"`
		GroupPriority   int32  `json:"groupPriorityMinimum"`
		VersionPriority int32  `json:"versionPriority"`
		Service         *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

func (a *apiService) check(name string) error {
	s := &a.Spec
	switch {
	case name != s.Version+"."+s.Group:
		return fmt.Errorf("metadata.name: got %q, want %q, which is spec.version+\".\"+spec.group", name, s.Version+"."+s.Group)
	case s.GroupPriority <= 0 || s.GroupPriority > 20000:
		return fmt.Errorf("spec.groupPriorityMinimum: got %d, want 1 to 20000", s.GroupPriority)
	case s.VersionPriority <= 0 || s.VersionPriority > 1000:
		return fmt.Errorf("spec.versionPriority: got %d, want 1 to 1000", s.VersionPriority)
	case s.Service != nil && (s.Service.Namespace == "" || s.Service.Name == ""):
		return fmt.Errorf("spec.service: namespace and name are required")
	}
	return nil
}

// NewAPIService returns the APIService of a group and version. With a service, as namespace/name,
// the group and version are those of an aggregated API server.
func NewAPIService(gv schema.GroupVersion, priority Priority, service string) *unstructured.Unstructured {
	spec := map[string]any{
		"version": gv.Version, "groupPriorityMinimum": int64(priority.Group), "versionPriority": int64(priority.Version),
	}
	if gv.Group != "" {
		spec["group"] = gv.Group
	}
	if namespace, name, ok := strings.Cut(service, "/"); ok {
		spec["service"] = map[string]any{"namespace": namespace, "name": name, "port": int64(443)}
		spec["insecureSkipTLSVerify"] = true
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}, "spec": spec}}
	obj.SetGroupVersionKind(APIServices().Kind)
	obj.SetName(gv.Version + "." + gv.Group)
	return obj
}
