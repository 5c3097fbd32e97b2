// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunningStatus returns the status that the kubelet reports for a Pod whose containers have been
// running since a time.
func RunningStatus(seed uint64, pod *corev1.Pod, since time.Time) corev1.PodStatus {
	d := drawFor(seed, pod.Name)
	ip, host := address(d, 10), address(d, 192)
	return corev1.PodStatus{
		Phase:                 corev1.PodRunning,
		Conditions:            podConditions(since),
		HostIP:                host,
		HostIPs:               []corev1.HostIP{{IP: host}},
		PodIP:                 ip,
		PodIPs:                []corev1.PodIP{{IP: ip}},
		StartTime:             new(metav1.NewTime(since)),
		InitContainerStatuses: containerStatuses(d, pod.Spec.InitContainers, terminated(since)),
		ContainerStatuses:     containerStatuses(d, pod.Spec.Containers, running(since)),
		QOSClass:              corev1.PodQOSBurstable,
	}
}

func podConditions(since time.Time) []corev1.PodCondition {
	var all []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		all = append(all, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)})
	}
	return all
}

func containerStatuses(d draw, containers []corev1.Container, state corev1.ContainerState) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range containers {
		all = append(all, corev1.ContainerStatus{
			Name:               c.Name,
			State:              state,
			Ready:              true,
			Started:            new(state.Running != nil),
			Image:              c.Image,
			ImageID:            c.Image + "@sha256:" + d.hex(64),
			ContainerID:        "containerd://" + d.hex(64),
			RestartCount:       int32(d.IntN(3)),
			AllocatedResources: c.Resources.Requests,
			Resources:          &c.Resources,
		})
	}
	return all
}

func running(since time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
}

func terminated(at time.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "Completed", StartedAt: metav1.NewTime(at), FinishedAt: metav1.NewTime(at),
	}}
}

func address(d draw, network int) string {
	return fmt.Sprintf("%d.%d.%d.%d", network, d.IntN(256), d.IntN(256), d.between(1, 254))
}
