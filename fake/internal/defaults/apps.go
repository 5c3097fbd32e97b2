// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func setDeployment(deployment *appsv1.Deployment) {
	spec := &deployment.Spec
	setNil(&spec.Replicas, 1)
	setNil(&spec.RevisionHistoryLimit, 10)
	setNil(&spec.ProgressDeadlineSeconds, 600)
	setZero(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		setNil(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		setNil(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		setNil(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	setPodSpec(&spec.Template.Spec)
}

func setReplicaSet(replicaSet *appsv1.ReplicaSet) {
	setNil(&replicaSet.Spec.Replicas, 1)
	setPodSpec(&replicaSet.Spec.Template.Spec)
}

func setStatefulSet(statefulSet *appsv1.StatefulSet) {
	spec := &statefulSet.Spec
	setNil(&spec.Replicas, 1)
	setNil(&spec.RevisionHistoryLimit, 10)
	setZero(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		setNil(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil && spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		setNil(&rolling.Partition, 0)
	}
	setNil(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	setZero(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setZero(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setPodSpec(&spec.Template.Spec)
	for i := range spec.VolumeClaimTemplates {
		setClaim(&spec.VolumeClaimTemplates[i])
		spec.VolumeClaimTemplates[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	}
}

func setDaemonSet(daemonSet *appsv1.DaemonSet) {
	spec := &daemonSet.Spec
	setNil(&spec.RevisionHistoryLimit, 10)
	setZero(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		setNil(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		setNil(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setNil(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	setPodSpec(&spec.Template.Spec)
}

// setTemplateGeneration sets the annotation that counts the templates of a DaemonSet.
func setTemplateGeneration(daemonSet *appsv1.DaemonSet, generation int64) {
	annotations := maps.Clone(daemonSet.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
	daemonSet.Annotations = annotations
}

// templateGeneration returns the count of that annotation, or 0 if there is none.
func templateGeneration(daemonSet *appsv1.DaemonSet) int64 {
	generation, err := strconv.ParseInt(daemonSet.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return generation
}

// keepTemplateGeneration keeps the count, and increments it if the template has changed.
func keepTemplateGeneration(next, current *appsv1.DaemonSet) {
	generation := templateGeneration(current)
	if !apiequality.Semantic.DeepEqual(next.Spec.Template, current.Spec.Template) {
		generation++
	}
	setTemplateGeneration(next, generation)
}
