// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/workloads"
)

// Actor is a part of the cluster that writes: a controller or a kubelet of the cluster's own. It
// returns the writes that it could do next, none if it has nothing to do. The simulation executes
// any of them at any time, and asks again after each write. If the server refuses one, the run
// fails. An Actor must be a pure function: it must not keep a state, and not start goroutines.
type Actor func(State) []Action

// Action is one write of an [Actor].
type Action struct {
	// Verb is "create", "update", "update status", "delete", or "finalize" for a deleted Namespace
	// that is empty.
	Verb string
	// Object is the object to write. A delete has the propagation policy that a finalizer of the
	// object asks for, or Background. That of a Pod that has a deletionTimestamp removes it, as a
	// kubelet does.
	Object fake.Object
}

// State is all objects of the API server at one moment. The objects must not be modified.
type State struct{ cluster workloads.State }

// All returns the objects of a Go type, such as *corev1.Pod, sorted by namespace and name. Custom
// resources are *unstructured.Unstructured, all kinds together.
func All[T fake.Object](s State) []T { return workloads.All[T](s.cluster) }

// Write is a write of the program, for invariants.
type Write struct {
	// Process is the number of the replica, from 1.
	Process int
	// Verb is "create", "update", "patch", "delete" or "deletecollection".
	Verb string
	// Resource, Namespace, Name and Subresource are those of the request. Name is empty for a
	// create.
	Resource                     schema.GroupVersionResource
	Namespace, Name, Subresource string
	// Before is the state of all objects before the write, and After that after it.
	Before, After State
	// Err is why the API server has refused the write, which has changed nothing then. It is nil
	// for others.
	Err error
}
