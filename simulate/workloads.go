// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

// Workloads returns actors for Test.Cluster, which has none by default: the controllers of
// Deployments, ReplicaSets, StatefulSets, Jobs and Namespaces, the garbage collector, the binding
// and the protection of claims, and kube-scheduler and the kubelets. They make the writes of
// Kubernetes 1.36's controllers, one at a time. A test that plays one of these parts itself lists
// the other actors. Time has no effect: minReadySeconds and deadlines are ignored.
func Workloads() []Actor {
	return []Actor{
		ControlDeployments, ControlReplicaSets, ControlStatefulSets, ControlJobs, ControlNamespaces,
		CollectGarbage, BindClaims, ProtectClaims, RunPods,
	}
}

// forEach returns the actions for all objects of a Go type. Nothing is created in a deleted
// Namespace.
func forEach[T fake.Object](s State, act func(State, T) []Action) []Action {
	var actions []Action
	for _, obj := range All[T](s) {
		actions = append(actions, where(act(s, obj), func(a Action) bool { return a.Verb != "create" || !inDeletedNamespace(s, a.Object) })...)
	}
	return actions
}

func inDeletedNamespace(s State, obj fake.Object) bool {
	namespace := find[*corev1.Namespace](s, "", obj.GetNamespace())
	return namespace != nil && namespace.DeletionTimestamp != nil
}

// find returns the object of a Go type and a name, or nil.
func find[T fake.Object](s State, namespace, name string) (found T) {
	for _, obj := range All[T](s) {
		if obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return found
}

// where returns the items for which is returns true.
func where[T any](items []T, is func(T) bool) []T {
	var found []T
	for _, item := range items {
		if is(item) {
			found = append(found, item)
		}
	}
	return found
}

// count returns the number of items for which is returns true.
func count[T any](items []T, is func(T) bool) int32 { return int32(len(where(items, is))) }

// changed returns a copy of an object with a change.
func changed[T fake.Object](obj T, change func(T)) T {
	next := obj.DeepCopyObject().(T)
	change(next)
	return next
}

// without returns the items of a list that are not equal to item.
func without(items []string, item string) []string {
	return where(items, func(other string) bool { return other != item })
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

// isValid reports whether a workload has a number of Pods, and selects the Pods of its template. A
// real server refuses one that does not; here it does nothing.
func isValid(replicas *int32, selector *metav1.LabelSelector, template corev1.PodTemplateSpec) bool {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && matcher.Matches(labels.Set(template.Labels)) && *replicas >= 0
}

// removeOwner removes the references to an owner.
func removeOwner(obj, owner fake.Object) {
	obj.SetOwnerReferences(where(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID != owner.GetUID() }))
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

// hasEnded reports whether the containers of a Pod have stopped.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// isActive reports whether a Pod runs, or will.
func isActive(pod *corev1.Pod) bool { return !hasEnded(pod) && pod.DeletionTimestamp == nil }

// isTerminating reports whether a Pod is deleted, and its containers have not stopped.
func isTerminating(pod *corev1.Pod) bool { return !hasEnded(pod) && pod.DeletionTimestamp != nil }

// isReady reports whether a Pod has the condition Ready.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
