// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// Find returns the object of a Go type and a name, or nil.
func Find[T fake.Object](s simulate.State, namespace, name string) (found T) {
	for _, obj := range simulate.All[T](s) {
		if obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return found
}

// CollectGarbage deletes objects whose owners are all gone, and executes foreground deletions and those that orphan.
func CollectGarbage(s simulate.State) []simulate.Action {
	present, owned := map[types.UID]bool{}, map[types.UID][]fake.Object{}
	for _, obj := range simulate.All[fake.Object](s) {
		present[obj.GetUID()] = true
		for _, owner := range obj.GetOwnerReferences() {
			owned[owner.UID] = append(owned[owner.UID], obj)
		}
	}
	var actions []simulate.Action
	for _, obj := range simulate.All[fake.Object](s) {
		owners := obj.GetOwnerReferences()
		orphaned := len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return present[o.UID] })
		switch {
		case obj.GetDeletionTimestamp() != nil:
			actions = append(actions, finalize(obj, owned[obj.GetUID()])...)
		case orphaned:
			actions = append(actions, simulate.Action{Verb: "delete", Object: obj})
		}
	}
	return actions
}

// finalize returns the next writes of the deletion of an object that owns others.
func finalize(obj fake.Object, owned []fake.Object) []simulate.Action {
	orphan, foreground := slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents), slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
	if !orphan && !foreground {
		return nil
	}
	var actions []simulate.Action
	for _, dependent := range owned {
		next := dependent.DeepCopyObject().(fake.Object)
		next.SetOwnerReferences(slices.DeleteFunc(next.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == obj.GetUID() }))
		switch {
		case orphan:
			actions = append(actions, simulate.Action{Verb: "update", Object: next})
		case dependent.GetDeletionTimestamp() == nil:
			actions = append(actions, simulate.Action{Verb: "delete", Object: dependent})
		}
	}
	if len(owned) > 0 {
		return actions
	}
	next := obj.DeepCopyObject().(fake.Object)
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	}))
	return []simulate.Action{{Verb: "update", Object: next}}
}

// RunPods makes Pods running and ready.
func RunPods(s simulate.State) []simulate.Action {
	var actions []simulate.Action
	for _, pod := range simulate.All[*corev1.Pod](s) {
		if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		running := pod.DeepCopy()
		running.Status.Phase, running.Status.PodIP = corev1.PodRunning, "10.0.0.1"
		running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		for _, container := range pod.Spec.Containers {
			running.Status.ContainerStatuses = append(running.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, Ready: true})
		}
		actions = append(actions, simulate.Action{Verb: "update status", Object: running})
	}
	return actions
}
