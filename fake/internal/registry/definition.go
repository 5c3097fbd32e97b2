// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

func (s *Store) storesDefinitions() bool {
	return s.Kind.Kind == "CustomResourceDefinition" && s.Group == "apiextensions.k8s.io"
}

// define serves the resources of a stored CustomResourceDefinition, replacing those of its previous
// version, and updates its status. Unlike on a real server, the definition is established when the
// create request returns.
func (r *Registry) define(obj history.Object) error {
	resources, err := resource.FromDefinition(obj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	r.serve(resources)
	return r.establish(obj)
}

// serve replaces the served versions of a custom resource. The resource keeps its objects.
func (r *Registry) serve(resources []*resource.Resource) {
	if len(resources) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := resources[0].GroupResource()
	objects := r.custom[name]
	if objects == nil {
		objects = r.collection(resources[0])
		r.custom[name] = objects
	}
	r.withdraw(name)
	for _, res := range resources {
		r.add(res, objects)
	}
}

// withdraw stops serving a custom resource. The caller must hold mu.
func (r *Registry) withdraw(name schema.GroupResource) {
	for gvr, s := range r.byResource {
		if gvr.GroupResource() == name {
			delete(r.byResource, gvr)
			delete(r.byKind, s.Kind)
		}
	}
}

// establish sets the conditions Established and NamesAccepted, for which clients wait.
func (r *Registry) establish(obj history.Object) error {
	definitions := r.ForResource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := definitions.objects.Apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current == nil || isEstablished(current) {
			return current, nil
		}
		next := deepCopy(current).(*unstructured.Unstructured)
		names, _, _ := unstructured.NestedMap(next.Object, "spec", "names")
		at := now().UTC().Format("2006-01-02T15:04:05Z")
		next.Object["status"] = map[string]any{
			"acceptedNames":  names,
			"storedVersions": storedVersions(next),
			"conditions": []any{
				condition("NamesAccepted", "NoConflicts", "no conflicts found", at),
				condition("Established", "InitialNamesAccepted", "the initial names have been accepted", at),
			},
		}
		return next, nil
	})
	return err
}

func condition(kind, reason, message, at string) map[string]any {
	return map[string]any{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at}
}

func isEstablished(obj history.Object) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.(*unstructured.Unstructured).Object, "status", "conditions")
	return len(conditions) > 0
}

// storedVersions returns the name of the storage version.
func storedVersions(definition *unstructured.Unstructured) []any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["storage"] == true {
			return []any{v["name"]}
		}
	}
	return nil
}

// undefine deletes the objects of a custom resource and stops serving it, before its definition is
// deleted.
func (s *Store) undefine(name string, opts *metav1.DeleteOptions) error {
	obj, ok := s.objects.Get(name)
	if !ok {
		return s.notFound(name)
	}
	if err := s.checkPreconditions(obj, opts.Preconditions); err != nil {
		return err
	}
	resources, err := resource.FromDefinition(obj)
	if err != nil || len(resources) == 0 {
		return err
	}
	s.registry.drop(resources[0].GroupResource())
	return nil
}

// drop removes a custom resource with all its objects, even those with finalizers.
func (r *Registry) drop(name schema.GroupResource) {
	r.mu.Lock()
	objects := r.custom[name]
	delete(r.custom, name)
	r.withdraw(name)
	r.mu.Unlock()
	if objects == nil {
		return
	}
	objects.Clear()
	r.memory.Remove(objects)
}
