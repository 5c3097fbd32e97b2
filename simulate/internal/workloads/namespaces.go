// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
)

// ControlNamespaces implements simulate.ControlNamespaces.
func ControlNamespaces(s State) []Action {
	return forEach(s, func(s State, namespace *corev1.Namespace) []Action {
		if namespace.DeletionTimestamp == nil {
			return nil
		}
		var actions []Action
		empty := true
		for _, obj := range All[fake.Object](s) {
			if obj.GetNamespace() != namespace.Name {
				continue
			}
			empty = false
			if obj.GetDeletionTimestamp() == nil {
				actions = append(actions, Action{Verb: "delete", Object: obj})
			}
		}
		if empty && len(namespace.Spec.Finalizers) > 0 { // else it waits for the finalizers of its metadata
			actions = append(actions, Action{Verb: "finalize", Object: namespace})
		}
		return actions
	})
}
