// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"github.com/kinformer/kinformer/fake"
)

// Workloads returns the actors that a cluster has: the controllers of StatefulSets, the garbage collector,
// the protection of claims, and the scheduler and kubelets.
func Workloads() []Actor {
	return []Actor{ControlStatefulSets, CollectGarbage, ProtectClaims, RunPods}
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
