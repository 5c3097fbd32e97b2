// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

// isValid reports whether a workload has a number of Pods, and selects the Pods of its template. A
// real server refuses one that does not; here it does nothing.
func isValid(replicas *int32, selector *metav1.LabelSelector, template corev1.PodTemplateSpec) bool {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && matcher.Matches(labels.Set(template.Labels)) && *replicas >= 0
}

// claim returns those of the candidates that a controller owns. Changes are the writes with which
// it adopts candidates without a controller that its selector matches, and releases its own ones
// that the selector does not match. Adopted objects get a finalizer, unless it is empty, and
// released objects lose it.
func claim[T fake.Object](
	candidates []T, owner fake.Object, kind schema.GroupVersionKind, selector *metav1.LabelSelector, finalizer string,
) (owned []T, changes []Action) {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, nil
	}
	for _, obj := range candidates {
		controller, matches := metav1.GetControllerOf(obj), matcher.Matches(labels.Set(obj.GetLabels()))
		switch {
		case obj.GetNamespace() != owner.GetNamespace(), controller != nil && controller.UID != owner.GetUID():
		case controller != nil && matches:
			owned = append(owned, obj)
		case owner.GetDeletionTimestamp() != nil:
		case controller != nil:
			changes = append(changes, Action{Verb: "update", Object: changed(obj, func(next T) {
				removeOwner(next, owner)
				next.SetFinalizers(without(next.GetFinalizers(), finalizer))
			})})
		case matches && obj.GetDeletionTimestamp() == nil:
			changes = append(changes, Action{Verb: "update", Object: changed(obj, func(next T) {
				next.SetOwnerReferences(append(next.GetOwnerReferences(), *metav1.NewControllerRef(owner, kind)))
				if finalizer != "" {
					next.SetFinalizers(append(without(next.GetFinalizers(), finalizer), finalizer))
				}
			})})
		}
	}
	return owned, changes
}

// removeOwner removes the references to an owner.
func removeOwner(obj, owner fake.Object) {
	obj.SetOwnerReferences(where(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID != owner.GetUID() }))
}

// withoutFinalizer returns the write that removes a finalizer.
func withoutFinalizer(obj fake.Object, finalizer string) []Action {
	return []Action{{Verb: "update", Object: changed(obj, func(next fake.Object) {
		next.SetFinalizers(without(next.GetFinalizers(), finalizer))
	})}}
}

// podOf returns a Pod of a controller's template, with a generated name.
func podOf(template corev1.PodTemplateSpec, owner fake.Object, kind schema.GroupVersionKind) *corev1.Pod {
	template = *template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), GenerateName: owner.GetName() + "-",
			Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: template.Spec,
	}
}
