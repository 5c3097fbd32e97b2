// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
)

// ControlReplicaSets implements simulate.ControlReplicaSets.
func ControlReplicaSets(s State) []Action { return forEach(s, controlReplicaSet) }

func controlReplicaSet(s State, set *appsv1.ReplicaSet) []Action {
	if !isValid(set.Spec.Replicas, set.Spec.Selector, set.Spec.Template) {
		return nil
	}
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	running := where(All[*corev1.Pod](s), func(pod *corev1.Pod) bool { return !hasEnded(pod) })
	pods, actions := claim(running, set, kind, set.Spec.Selector, "")
	if len(actions) > 0 {
		return actions
	}
	active := where(pods, isActive)
	switch {
	case set.DeletionTimestamp != nil:
	case int32(len(active)) < *set.Spec.Replicas:
		actions = append(actions, Action{Verb: "create", Object: podOf(set.Spec.Template, set, kind)})
	case int32(len(active)) > *set.Spec.Replicas:
		actions = append(actions, Action{Verb: "delete", Object: slices.MinFunc(active, compareForDeletion)})
	}
	if status := statusOfReplicaSet(set, active, count(pods, isTerminating)); !equality.Semantic.DeepEqual(status, set.Status) {
		actions = append(actions, Action{Verb: "update status", Object: changed(set, func(next *appsv1.ReplicaSet) { next.Status = status })})
	}
	return actions
}

func statusOfReplicaSet(set *appsv1.ReplicaSet, active []*corev1.Pod, terminating int32) appsv1.ReplicaSetStatus {
	template := labels.SelectorFromSet(set.Spec.Template.Labels)
	status := appsv1.ReplicaSetStatus{
		ObservedGeneration: set.Generation, Conditions: set.Status.Conditions,
		Replicas: int32(len(active)), ReadyReplicas: count(active, isReady), TerminatingReplicas: &terminating,
		FullyLabeledReplicas: count(active, func(pod *corev1.Pod) bool { return template.Matches(labels.Set(pod.Labels)) }),
	}
	status.AvailableReplicas = status.ReadyReplicas
	return status
}
