// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
)

// CollectGarbage implements simulate.CollectGarbage.
func CollectGarbage(s State) []Action {
	g := ownerGraph{isNamespaced: s.IsNamespaced, objects: map[types.UID]fake.Object{}, dependents: map[types.UID][]fake.Object{}}
	all := All[fake.Object](s)
	for _, obj := range all {
		g.objects[obj.GetUID()] = obj
		for _, ref := range obj.GetOwnerReferences() {
			g.dependents[ref.UID] = append(g.dependents[ref.UID], obj)
		}
	}
	var actions []Action
	for _, obj := range all {
		if obj.GetDeletionTimestamp() != nil {
			actions = append(actions, g.finalize(obj)...)
		} else if len(obj.GetOwnerReferences()) > 0 {
			actions = append(actions, g.collect(obj)...)
		}
	}
	return actions
}

// ownerGraph is the objects by UID, and the objects that refer to a UID as their owner.
type ownerGraph struct {
	objects      map[types.UID]fake.Object
	dependents   map[types.UID][]fake.Object
	isNamespaced func(metav1.OwnerReference) bool
}

// collect returns the next write for an object that has owners.
func (g ownerGraph) collect(obj fake.Object) []Action {
	var kept []metav1.OwnerReference
	waiting := false // an owner is deleted in the foreground
	for _, ref := range obj.GetOwnerReferences() {
		if obj.GetNamespace() == "" && g.isNamespaced(ref) {
			return nil // such a reference is invalid
		}
		owner := g.objects[ref.UID]
		switch {
		case owner == nil, owner.GetNamespace() != "" && owner.GetNamespace() != obj.GetNamespace():
		case owner.GetDeletionTimestamp() != nil && slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents):
			waiting = true
		default:
			kept = append(kept, ref)
		}
	}
	switch {
	case len(kept) == len(obj.GetOwnerReferences()):
		return nil
	case len(kept) > 0:
		return []Action{{Verb: "update", Object: changed(obj, func(next fake.Object) { next.SetOwnerReferences(kept) })}}
	case waiting && len(g.dependents[obj.GetUID()]) > 0:
		return []Action{{Verb: "delete", Object: changed(obj, func(next fake.Object) {
			next.SetFinalizers(append(next.GetFinalizers(), metav1.FinalizerDeleteDependents))
		})}}
	}
	return []Action{{Verb: "delete", Object: obj}}
}

// finalize returns the next writes of a deletion that orphans dependents, or waits for them.
func (g ownerGraph) finalize(obj fake.Object) []Action {
	dependents := g.dependents[obj.GetUID()]
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		var actions []Action
		for _, dependent := range dependents {
			actions = append(actions, Action{Verb: "update", Object: changed(dependent, func(next fake.Object) { removeOwner(next, obj) })})
		}
		if len(actions) > 0 {
			return actions
		}
		return withoutFinalizer(obj, metav1.FinalizerOrphanDependents)
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		if slices.ContainsFunc(dependents, func(dependent fake.Object) bool { return blocks(dependent, obj) }) {
			return nil
		}
		return withoutFinalizer(obj, metav1.FinalizerDeleteDependents)
	}
	return nil
}

// blocks reports whether a dependent blocks the deletion of its owner in the foreground.
func blocks(dependent, owner fake.Object) bool {
	return slices.ContainsFunc(dependent.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner.GetUID() && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
	})
}
