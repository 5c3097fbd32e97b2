// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withStatus returns the Deployment with its status and its revision.
func (r *rollout) withStatus() *appsv1.Deployment {
	next := r.DeepCopy()
	next.Status = appsv1.DeploymentStatus{
		ObservedGeneration:  r.Generation,
		Replicas:            sum(r.sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.Replicas }),
		ReadyReplicas:       sum(r.sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.ReadyReplicas }),
		AvailableReplicas:   sum(r.sets, available),
		UnavailableReplicas: max(0, sum(r.sets, wanted)-sum(r.sets, available)),
		TerminatingReplicas: new(sum(r.sets, terminating)),
		CollisionCount:      r.Status.CollisionCount,
		Conditions:          slices.Clone(r.Status.Conditions),
	}
	if r.current != nil {
		next.Status.UpdatedReplicas = r.current.Status.Replicas
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, revisionAnnotation, r.current.Annotations[revisionAnnotation])
	}
	if r.nameIsTaken() && !r.Spec.Paused && r.DeletionTimestamp == nil {
		collisions := int32(1)
		if r.Status.CollisionCount != nil {
			collisions += *r.Status.CollisionCount
		}
		next.Status.CollisionCount = &collisions
	}
	for _, condition := range []appsv1.DeploymentCondition{r.progressing(&next.Status), r.availability(&next.Status)} {
		setDeploymentCondition(&next.Status, condition)
	}
	return next
}

func terminating(set *appsv1.ReplicaSet) int32 {
	if set.Status.TerminatingReplicas == nil {
		return 0
	}
	return *set.Status.TerminatingReplicas
}

// isComplete reports whether a status is that of a Deployment whose Pods are all updated and
// available.
func (r *rollout) isComplete(status *appsv1.DeploymentStatus) bool {
	return status.UpdatedReplicas == r.replicas && status.Replicas == r.replicas && status.AvailableReplicas == r.replicas &&
		status.ObservedGeneration >= r.Generation
}

// hasProgressed reports whether a status is closer to the end of a rollout than the one before.
func (r *rollout) hasProgressed(status *appsv1.DeploymentStatus) bool {
	before := r.Status
	return status.UpdatedReplicas > before.UpdatedReplicas || status.Replicas-status.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		status.ReadyReplicas > before.ReadyReplicas || status.AvailableReplicas > before.AvailableReplicas
}

// progressing returns the condition Progressing, or one without a type if it does not change.
func (r *rollout) progressing(status *appsv1.DeploymentStatus) appsv1.DeploymentCondition {
	reason, subject := "", fmt.Sprintf("Deployment %q", r.Name)
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			reason = c.Reason
		}
	}
	if r.current != nil {
		subject = fmt.Sprintf("ReplicaSet %q", r.current.Name)
	}
	is := func(status corev1.ConditionStatus, reason, message string) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: status, Reason: reason, Message: message}
	}
	switch {
	case r.Spec.ProgressDeadlineSeconds == nil || r.DeletionTimestamp != nil:
	case r.Spec.Paused:
		return is(corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused")
	case reason == "DeploymentPaused":
		return is(corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	case r.isNew():
		return is(corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", r.current.Name))
	case reason == "" && r.current != nil:
		return is(corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", r.current.Name))
	case r.isScaled(), reason == "NewReplicaSetAvailable" && status.Replicas == status.UpdatedReplicas:
	case r.isComplete(status):
		return is(corev1.ConditionTrue, "NewReplicaSetAvailable", subject+" has successfully progressed.")
	case r.hasProgressed(status):
		return is(corev1.ConditionTrue, "ReplicaSetUpdated", subject+" is progressing.")
	}
	return appsv1.DeploymentCondition{}
}

// isNew reports whether the current ReplicaSet was created since the last status.
func (r *rollout) isNew() bool {
	return r.current != nil && r.current.Annotations[revisionHistoryAnnotation] == "" &&
		r.Annotations[revisionAnnotation] != strconv.Itoa(revisionOf(r.current))
}

// availability returns the condition Available.
func (r *rollout) availability(status *appsv1.DeploymentStatus) appsv1.DeploymentCondition {
	if status.AvailableReplicas < r.replicas-r.unavailable {
		return appsv1.DeploymentCondition{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse,
			Reason: "MinimumReplicasUnavailable", Message: "Deployment does not have minimum availability.",
		}
	}
	return appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue,
		Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
	}
}

// setDeploymentCondition sets a condition, unless there is one of the same status and reason.
func setDeploymentCondition(status *appsv1.DeploymentStatus, condition appsv1.DeploymentCondition) {
	if condition.Type == "" {
		return
	}
	condition.LastUpdateTime, condition.LastTransitionTime = metav1.Now(), metav1.Now()
	for _, old := range status.Conditions {
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status && old.Reason == condition.Reason {
			return
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
	}
	status.Conditions = append(where(status.Conditions, func(old appsv1.DeploymentCondition) bool { return old.Type != condition.Type }), condition)
}
