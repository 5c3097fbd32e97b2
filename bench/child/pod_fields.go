// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
)

// PodFields are six fields of a Pod, as a program would read them.
type PodFields struct {
	Spec struct {
		NodeName   string            `json:"nodeName"`
		Containers []ContainerFields `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase     corev1.PodPhase `json:"phase"`
		PodIP     string          `json:"podIP"`
		StartTime *metav1.Time    `json:"startTime"`
	} `json:"status"`
}

// ContainerFields are the fields of a container in PodFields.
type ContainerFields struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// partialPod is a Pod with metadata and PodFields.
type partialPod = cache.PartialObject[*corev1.Pod, PodFields]

// clearOtherFields is a transform for client-go that keeps of a Pod what partialPod has.
func clearOtherFields(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	pod.ManagedFields = nil
	for i, container := range pod.Spec.Containers {
		pod.Spec.Containers[i] = corev1.Container{Name: container.Name, Image: container.Image}
	}
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: pod.Spec.Containers}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP, StartTime: pod.Status.StartTime}
	return pod, nil
}
