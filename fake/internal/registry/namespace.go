package registry

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// beginNamespace gives a new Namespace its phase, the label with its name and the finalizer that keeps it until it is empty.
func beginNamespace(n *corev1.Namespace) {
	n.Status.Phase = corev1.NamespaceActive
	if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
	nameLabel(n)
}

// checkNamespace refuses new objects in a Namespace that is being deleted. One that does not exist is no obstacle.
func (s *Store) checkNamespace(obj history.Object) error {
	if obj.GetNamespace() == "" {
		return nil
	}
	namespaces := s.registry.ForResource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	if namespaces == nil {
		return nil
	}
	found, ok := namespaces.objects.Get(obj.GetNamespace())
	if !ok || found.GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewForbidden(s.GroupResource(), obj.GetName(),
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", obj.GetNamespace()))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", obj.GetNamespace()),
		Field:   field.NewPath("metadata", "namespace").String(),
	})
	return err
}

// keepFinalizers is what an ordinary update of a Namespace cannot change.
func keepFinalizers(next, current history.Object) {
	if n, ok := next.(*corev1.Namespace); ok {
		n.Spec.Finalizers = current.(*corev1.Namespace).Spec.Finalizers
	}
}

// nameLabel gives a Namespace the label with its name, which it cannot lose.
func nameLabel(obj history.Object) {
	n, ok := obj.(*corev1.Namespace)
	if !ok || n.Name == "" {
		return
	}
	n.Labels = merged(n.Labels, map[string]string{corev1.LabelMetadataName: n.Name})
}

// Finalize replaces a Namespace with its finalizers, but for its status. One that is being deleted and has none any more is gone.
func (s *Store) Finalize(namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error) {
	return s.update(namespace, name, obj, mode, func(next, current history.Object) history.Object {
		resource.TakeStatus(next, current)
		return next
	})
}

// markNamespace returns a Namespace as it is while its finalizers hold it, or nil if nothing does.
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

// held tells whether something in its spec keeps an object that is being deleted.
func held(obj history.Object) bool {
	n, ok := obj.(*corev1.Namespace)
	return ok && len(n.Spec.Finalizers) > 0
}
