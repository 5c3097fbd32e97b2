// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

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

// claimsOf returns the names of the claims that a Pod uses.
func claimsOf(pod *corev1.Pod) []string {
	var names []string
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// compareForDeletion orders Pods by which is deleted first: those that run least, then those of the
// lowest cost, then the youngest.
func compareForDeletion(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(progressOf(a), progressOf(b)),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
	)
}

// progressOf returns how far a Pod has come.
func progressOf(pod *corev1.Pod) int {
	switch {
	case pod.Spec.NodeName == "":
		return 0
	case pod.Status.Phase != corev1.PodRunning:
		return 1
	case !isReady(pod):
		return 2
	}
	return 3
}

func deletionCost(pod *corev1.Pod) int {
	cost, _ := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost]) // 0 without one
	return cost
}
