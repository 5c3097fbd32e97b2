// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

// State is all objects of the API server at one moment.
type State struct {
	// Objects are sorted by resource, namespace and name. They must not be modified.
	Objects []fake.Object
	// IsNamespaced reports whether the kind of an owner is namespaced.
	IsNamespaced func(metav1.OwnerReference) bool
}

// Action is one write: see simulate.Action, which has the same fields.
type Action struct {
	Verb   string
	Object fake.Object
}

// All implements simulate.All.
func All[T fake.Object](s State) []T {
	var all []T
	for _, obj := range s.Objects {
		if typed, ok := obj.(T); ok {
			all = append(all, typed)
		}
	}
	return all
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

// changed returns a copy of an object with a change.
func changed[T fake.Object](obj T, change func(T)) T {
	next := obj.DeepCopyObject().(T)
	change(next)
	return next
}
