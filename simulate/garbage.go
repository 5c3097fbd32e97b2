// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
)

// CollectGarbage deletes objects whose owners are all gone, and executes foreground deletions and those that orphan.
func CollectGarbage(s State) []Action {
	present, owned := map[types.UID]bool{}, map[types.UID][]fake.Object{}
	for _, obj := range All[fake.Object](s) {
		present[obj.GetUID()] = true
		for _, owner := range obj.GetOwnerReferences() {
			owned[owner.UID] = append(owned[owner.UID], obj)
		}
	}
	var actions []Action
	for _, obj := range All[fake.Object](s) {
		owners := obj.GetOwnerReferences()
		orphaned := len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return present[o.UID] })
		switch {
		case obj.GetDeletionTimestamp() != nil:
			actions = append(actions, finalize(obj, owned[obj.GetUID()])...)
		case orphaned:
			actions = append(actions, Action{Verb: "delete", Object: obj})
		}
	}
	return actions
}

// finalize returns the next writes of the deletion of an object that owns others.
func finalize(obj fake.Object, owned []fake.Object) []Action {
	orphan, foreground := slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents), slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
	if !orphan && !foreground {
		return nil
	}
	var actions []Action
	for _, dependent := range owned {
		next := dependent.DeepCopyObject().(fake.Object)
		next.SetOwnerReferences(slices.DeleteFunc(next.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == obj.GetUID() }))
		switch {
		case orphan:
			actions = append(actions, Action{Verb: "update", Object: next})
		case dependent.GetDeletionTimestamp() == nil:
			actions = append(actions, Action{Verb: "delete", Object: dependent})
		}
	}
	if len(owned) > 0 {
		return actions
	}
	next := obj.DeepCopyObject().(fake.Object)
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	}))
	return []Action{{Verb: "update", Object: next}}
}
