// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SetNew sets the defaults of a new object. Its name and UID must be set.
func SetNew(obj runtime.Object) {
	if job, ok := obj.(*batchv1.Job); ok {
		generateSelector(job)
	}
	Set(obj)
	switch obj := obj.(type) {
	case *corev1.Pod:
		setNewPod(obj)
	case *appsv1.DaemonSet:
		setTemplateGeneration(obj, max(1, templateGeneration(obj)))
	}
}

// Keep sets the fields of an updated object that SetNew set when it was created. The defaults of
// next must be set.
func Keep(next, current runtime.Object) {
	switch next := next.(type) {
	case *corev1.Pod:
		keepPod(next, current.(*corev1.Pod))
	case *appsv1.DaemonSet:
		keepTemplateGeneration(next, current.(*appsv1.DaemonSet))
	}
}

// Set sets the defaults of an object that has been decoded. It does nothing for types without
// defaults.
func Set(obj runtime.Object) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		setPod(obj)
	case *corev1.PodTemplate:
		setPodSpec(&obj.Template.Spec)
	case *corev1.ReplicationController:
		setReplicationController(obj)
	case *corev1.Service:
		setService(obj)
	case *corev1.Secret:
		setSecret(obj)
	case *corev1.Endpoints: //nolint:staticcheck // some clients still write them
		setEndpoints(obj)
	case *corev1.Node:
		setNode(obj)
	case *corev1.LimitRange:
		setLimitRange(obj)
	case *corev1.PersistentVolume:
		setVolume(obj)
	case *corev1.PersistentVolumeClaim:
		setClaim(obj)
	case *appsv1.Deployment:
		setDeployment(obj)
	case *appsv1.ReplicaSet:
		setReplicaSet(obj)
	case *appsv1.StatefulSet:
		setStatefulSet(obj)
	case *appsv1.DaemonSet:
		setDaemonSet(obj)
	case *batchv1.Job:
		setJob(obj)
	case *batchv1.CronJob:
		setCronJob(obj)
	default:
		setOther(obj)
	}
}

// setOther sets the defaults of objects that configure a cluster.
func setOther(obj runtime.Object) {
	switch obj := obj.(type) {
	case *discoveryv1.EndpointSlice:
		setEndpointSlice(obj)
	case *rbacv1.RoleBinding:
		setRoleBinding(&obj.RoleRef, obj.Subjects)
	case *rbacv1.ClusterRoleBinding:
		setRoleBinding(&obj.RoleRef, obj.Subjects)
	case *networkingv1.NetworkPolicy:
		setNetworkPolicy(obj)
	case *networkingv1.IngressClass:
		setIngressClass(obj)
	case *storagev1.StorageClass:
		setStorageClass(obj)
	case *storagev1.CSIDriver:
		setCSIDriver(obj)
	case *schedulingv1.PriorityClass:
		setNil(&obj.PreemptionPolicy, corev1.PreemptLowerPriority)
	case *autoscalingv1.HorizontalPodAutoscaler:
		setAutoscalerV1(obj)
	case *autoscalingv2.HorizontalPodAutoscaler:
		setAutoscaler(obj)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		setValidatingWebhooks(obj.Webhooks)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		setMutatingWebhooks(obj.Webhooks)
	}
}

// setNil sets a pointer that is nil to a new variable with the value.
func setNil[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// setZero sets a field that is zero to a value.
func setZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// copyLabels sets labels that are empty to those of a template.
func copyLabels(labels *map[string]string, template map[string]string) {
	if len(*labels) == 0 {
		*labels = maps.Clone(template)
	}
}
