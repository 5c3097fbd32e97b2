// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunPods implements simulate.RunPods.
func RunPods(s State) []Action {
	return forEach(s, func(s State, pod *corev1.Pod) []Action {
		switch {
		case pod.DeletionTimestamp != nil:
			return stop(pod)
		case pod.Spec.NodeName == "":
			return schedule(s, pod)
		case pod.Status.Phase == corev1.PodPending:
			return updatePod(pod, start)
		case pod.Status.Phase == corev1.PodRunning && belongsToJob(pod):
			return updatePod(pod, func(next *corev1.Pod) { end(next, corev1.PodSucceeded) })
		case pod.Status.Phase == corev1.PodRunning && len(pod.Spec.ReadinessGates) > 0 && isReady(pod) != passesGates(pod):
			return updatePod(pod, setReady)
		}
		return nil
	})
}

func updatePod(pod *corev1.Pod, change func(*corev1.Pod)) []Action {
	return []Action{{Verb: "update status", Object: changed(pod, change)}}
}

// schedule binds a Pod to a node.
func schedule(s State, pod *corev1.Pod) []Action {
	if len(pod.Spec.SchedulingGates) > 0 || slices.ContainsFunc(claimsOf(pod), func(name string) bool { return !isBound(s, pod.Namespace, name) }) {
		return nil
	}
	node := "node"
	for _, n := range All[*corev1.Node](s) {
		if !n.Spec.Unschedulable {
			node = n.Name
			break
		}
	}
	return []Action{{Verb: "update", Object: changed(pod, func(next *corev1.Pod) { next.Spec.NodeName = node })}}
}

// isBound reports whether there is a claim that a new Pod can use.
func isBound(s State, namespace, name string) bool {
	claim := find[*corev1.PersistentVolumeClaim](s, namespace, name)
	return claim != nil && claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound
}

func belongsToJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// start sets the status of a Pod whose containers run and are ready.
func start(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP, pod.Status.StartTime = corev1.PodRunning, "10.0.0.1", "10.1.0.1", new(metav1.Now())
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady} {
		setPodCondition(pod, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue})
	}
	setReady(pod)
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
}

// setReady sets the condition Ready of a Pod whose containers are ready.
func setReady(pod *corev1.Pod) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	if !passesGates(pod) {
		ready.Status, ready.Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
	}
	setPodCondition(pod, ready)
}

// passesGates reports whether the conditions of all readiness gates are true.
func passesGates(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
	})
}

func setPodCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	others := where(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type != condition.Type })
	pod.Status.Conditions = append(others, condition)
}

// stop returns the next write for a Pod that is deleted. One that finalizers keep has failed,
// unless it ended before.
func stop(pod *corev1.Pod) []Action {
	switch {
	case len(pod.Finalizers) > 0 && !hasEnded(pod):
		return updatePod(pod, func(next *corev1.Pod) { end(next, corev1.PodFailed) })
	case pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0:
		return nil // it waits for its finalizers
	}
	return []Action{{Verb: "delete", Object: pod}}
}

// end sets the status of a Pod whose containers have stopped.
func end(pod *corev1.Pod, phase corev1.PodPhase) {
	terminated, reason := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now()}, "PodCompleted"
	if phase == corev1.PodFailed {
		terminated.Reason, terminated.ExitCode, reason = "Error", 137, "PodFailed"
	}
	pod.Status.Phase = phase
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, reason, metav1.Now()
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Ready, status.Started, status.State = false, new(false), corev1.ContainerState{Terminated: terminated}
	}
}
