// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// BindClaims implements simulate.BindClaims.
func BindClaims(s State) []Action {
	return forEach(s, func(_ State, claim *corev1.PersistentVolumeClaim) []Action {
		wanted, bound := claim.Spec.Resources.Requests.Storage(), claim.Status.Phase == corev1.ClaimBound
		if claim.DeletionTimestamp != nil || bound && claim.Status.Capacity.Storage().Cmp(*wanted) >= 0 {
			return nil
		}
		return []Action{{Verb: "update status", Object: changed(claim, func(next *corev1.PersistentVolumeClaim) {
			next.Status.Phase, next.Status.AccessModes = corev1.ClaimBound, claim.Spec.AccessModes
			next.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: wanted.DeepCopy()}
		})}}
	})
}

// claimProtection is the finalizer of a claim that may be in use.
const claimProtection = "kubernetes.io/pvc-protection"

// ProtectClaims implements simulate.ProtectClaims.
func ProtectClaims(s State) []Action {
	return forEach(s, func(s State, claim *corev1.PersistentVolumeClaim) []Action {
		protected := slices.Contains(claim.Finalizers, claimProtection)
		switch {
		case claim.DeletionTimestamp == nil && !protected:
			return []Action{{Verb: "update", Object: changed(claim, func(next *corev1.PersistentVolumeClaim) {
				next.Finalizers = append(next.Finalizers, claimProtection)
			})}}
		case claim.DeletionTimestamp != nil && protected && !isUsed(s, claim):
			return withoutFinalizer(claim, claimProtection)
		}
		return nil
	})
}

// isUsed reports whether a Pod on a node uses a claim.
func isUsed(s State, claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(All[*corev1.Pod](s), func(pod *corev1.Pod) bool {
		return pod.Namespace == claim.Namespace && pod.Spec.NodeName != "" && slices.Contains(claimsOf(pod), claim.Name)
	})
}
