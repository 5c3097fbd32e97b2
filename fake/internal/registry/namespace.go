// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// initNamespace sets the phase and the finalizer of a new Namespace.
func initNamespace(n *corev1.Namespace) {
	n.Status.Phase = corev1.NamespaceActive
	if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// findNamespace returns the Namespace with the name, or nil if it was never created. It returns an
// error if the Namespace was removed.
func (r *Registry) findNamespace(name string) (history.Object, error) {
	namespaces := r.ForResource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	if namespaces == nil {
		return nil, nil
	}
	if found, ok := namespaces.objects.Get(name); ok {
		return found, nil
	}
	if _, removed := r.namespaces.Load(name); removed {
		return nil, namespaces.notFound(name)
	}
	return nil, nil
}

// checkNamespaceActive returns an error for a new object, or subresource of an object, in a
// Namespace that is being deleted or was removed.
func (s *Store) checkNamespaceActive(namespace, name string) error {
	found, err := s.registry.findNamespace(namespace)
	if err != nil || found == nil || found.GetDeletionTimestamp() == nil {
		return err
	}
	forbidden := apierrors.NewForbidden(s.GroupResource(), cmp.Or(name, "Unknown"),
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	forbidden.ErrStatus.Details.Causes = append(forbidden.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", namespace),
		Field:   field.NewPath("metadata", "namespace").String(),
	})
	return forbidden
}

func (s *Store) storesNamespaces() bool {
	return s.GroupResource() == corev1.Resource("namespaces")
}

// checkDeletable returns an error for a Namespace that every cluster has.
func (s *Store) checkDeletable(name string) error {
	needed := []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}
	if !s.storesNamespaces() || !slices.Contains(needed, name) {
		return nil
	}
	return apierrors.NewForbidden(s.GroupResource(), name, errors.New("this namespace may not be deleted"))
}

// keepFinalizers keeps the finalizers in the spec of a Namespace, which Update must not change.
func keepFinalizers(next, current history.Object) {
	if n, ok := next.(*corev1.Namespace); ok {
		n.Spec.Finalizers = current.(*corev1.Namespace).Spec.Finalizers
	}
}

// setNameLabel sets the label kubernetes.io/metadata.name of a Namespace.
func setNameLabel(obj history.Object) {
	n, ok := obj.(*corev1.Namespace)
	if !ok || n.Name == "" {
		return
	}
	n.Labels = mergeMaps(n.Labels, map[string]string{corev1.LabelMetadataName: n.Name})
}

// Finalize replaces a Namespace and its finalizers, but not its status. A Namespace that is being
// deleted is removed when it has no finalizers left.
func (s *Store) Finalize(namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error) {
	return s.update(namespace, name, obj, mode, func(next, current history.Object) history.Object {
		resource.CopyStatus(next, current)
		return next
	})
}

// markNamespace returns a Namespace marked for deletion, or nil if no finalizers in its spec block
// the deletion.
func markNamespace(current history.Object) history.Object {
	n, ok := current.(*corev1.Namespace)
	if !ok || len(n.Spec.Finalizers) == 0 {
		return nil
	}
	if n.DeletionTimestamp != nil {
		return current
	}
	marked, at := n.DeepCopy(), now()
	marked.DeletionTimestamp = &at
	marked.Status.Phase = corev1.NamespaceTerminating
	return marked
}

// hasSpecFinalizers reports whether an object is a Namespace with finalizers in its spec.
func hasSpecFinalizers(obj history.Object) bool {
	n, ok := obj.(*corev1.Namespace)
	return ok && len(n.Spec.Finalizers) > 0
}
