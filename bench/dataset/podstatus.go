// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterNodes is the number of nodes that the Pods are distributed over.
const clusterNodes = 1000

// startOnNode binds a Pod to a node and sets the status of a running Pod.
func startOnNode(pod *corev1.Pod, w *workload, r random) {
	node, ip, container := r.IntN(clusterNodes), podIP(r), func() string { return r.hex(64) }
	scheduled := later(pod.CreationTimestamp, 0)
	if w.scheduled {
		scheduled = later(scheduled, r.between(2, 90))
	}
	started := later(scheduled, r.between(2, 20))
	pod.Spec.NodeName = NodeName(node)
	if w.network {
		pod.Annotations["cni.projectcalico.org/containerID"] = container()
		pod.Annotations["cni.projectcalico.org/podIP"] = ip + "/32"
		pod.Annotations["cni.projectcalico.org/podIPs"] = ip + "/32"
	}
	pod.Status = corev1.PodStatus{
		ObservedGeneration: 1,
		Phase:              corev1.PodRunning,
		HostIP:             nodeIP(node),
		HostIPs:            []corev1.HostIP{{IP: nodeIP(node)}},
		PodIP:              ip,
		PodIPs:             []corev1.PodIP{{IP: ip}},
		StartTime:          &scheduled,
		QOSClass:           corev1.PodQOSBurstable,
		Conditions:         conditions(scheduled, started),
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := corev1.ContainerStatus{
			Name: c.Name, Ready: true, Started: new(true), Image: c.Image, Resources: c.Resources.DeepCopy(),
			ImageID:            c.Image[:strings.LastIndexByte(c.Image, ':')] + "@sha256:" + w.images[i],
			ContainerID:        "containerd://" + container(),
			State:              corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
			AllocatedResources: c.Resources.Requests.DeepCopy(),
		}
		if i == 0 && r.chance(5) {
			setRestarted(&status, container(), started, r)
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
}

// setRestarted sets the status of a container that failed before and was restarted.
func setRestarted(status *corev1.ContainerStatus, id string, started metav1.Time, r random) {
	status.RestartCount = int32(r.between(1, 4))
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
		ExitCode: int32(pick(r, 1, 2, 137)), Reason: "Error", StartedAt: started, FinishedAt: later(started, 1), ContainerID: "containerd://" + id,
	}
}

func conditions(scheduled, started metav1.Time) []corev1.PodCondition {
	condition := func(kind corev1.PodConditionType, at metav1.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: at}
	}
	return []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, started),
		condition(corev1.PodInitialized, scheduled),
		condition(corev1.PodReady, started),
		condition(corev1.ContainersReady, started),
		condition(corev1.PodScheduled, scheduled),
	}
}

func podIP(r random) string {
	return fmt.Sprintf("10.%d.%d.%d", r.between(64, 127), r.IntN(256), r.between(1, 254))
}

// NodeName returns the name of the i-th node.
func NodeName(i int) string {
	return fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i/250, i%250+1)
}

func nodeIP(i int) string { return fmt.Sprintf("10.0.%d.%d", i/250, i%250+1) }
