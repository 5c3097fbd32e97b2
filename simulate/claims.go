// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// claimProtection is the finalizer of a claim that may be in use.
const claimProtection = "kubernetes.io/pvc-protection"

// ProtectClaims lets claims go that are deleted and that no Pod uses.
func ProtectClaims(s State) []Action {
	used := map[string]bool{}
	for _, pod := range All[*corev1.Pod](s) {
		for _, volume := range pod.Spec.Volumes {
			if volume.PersistentVolumeClaim != nil {
				used[pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	var actions []Action
	for _, claim := range All[*corev1.PersistentVolumeClaim](s) {
		if claim.DeletionTimestamp != nil && !used[claim.Namespace+"/"+claim.Name] && slices.Contains(claim.Finalizers, claimProtection) {
			next := claim.DeepCopy()
			next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == claimProtection })
			actions = append(actions, Action{Verb: "update", Object: next})
		}
	}
	return actions
}
