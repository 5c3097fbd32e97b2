// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import corev1 "k8s.io/api/core/v1"

// RunPods makes Pods running and ready.
func RunPods(s State) []Action {
	var actions []Action
	for _, pod := range All[*corev1.Pod](s) {
		if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		running := pod.DeepCopy()
		running.Status.Phase, running.Status.PodIP = corev1.PodRunning, "10.0.0.1"
		running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		for _, container := range pod.Spec.Containers {
			running.Status.ContainerStatuses = append(running.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, Ready: true})
		}
		actions = append(actions, Action{Verb: "update status", Object: running})
	}
	return actions
}
