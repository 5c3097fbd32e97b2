// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import "k8s.io/apimachinery/pkg/runtime/schema"

// Rules are the rules for writing objects of a kind. Most kinds have the zero value.
type Rules struct {
	Generation           bool // metadata.generation counts the changes of the content
	GenerationAnnotation bool // metadata.generation also counts the changes of the annotations
	KeepsStatus          bool // create does not clear the status
	CreateOnUpdate       bool // update creates an object that does not exist
	NeedsVersion         bool // update requires a resourceVersion
	ReturnsDeleted       bool // delete returns the object instead of a Status
	Orphans              bool // delete orphans the dependents by default
	StatusKeepsLabels    bool // the status subresource does not update labels
	StatusKeepsMetadata  bool // the status subresource does not update any metadata
}

// rulesOf returns the rules of a built-in kind. They are those of the strategies in pkg/registry of
// Kubernetes 1.36.
func rulesOf(kind schema.GroupKind) Rules {
	name := kind.String()
	return Rules{
		Generation:           hasGeneration(name),
		GenerationAnnotation: name == "Deployment.apps",
		KeepsStatus:          name == "Node",
		CreateOnUpdate:       allowsCreateOnUpdate(name),
		NeedsVersion:         requiresVersion(name),
		ReturnsDeleted:       returnsDeleted(name),
		Orphans:              name == "Job.batch" || name == "ReplicationController",
		StatusKeepsLabels:    name == "Deployment.apps",
		StatusKeepsMetadata:  statusKeepsMetadata(name),
	}
}

func hasGeneration(kind string) bool {
	switch kind {
	case "Pod", "PodTemplate", "ReplicationController",
		"DaemonSet.apps", "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps",
		"Job.batch", "CronJob.batch",
		"EndpointSlice.discovery.k8s.io",
		"FlowSchema.flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
		"Ingress.networking.k8s.io", "IngressClass.networking.k8s.io", "NetworkPolicy.networking.k8s.io",
		"PodDisruptionBudget.policy",
		"DeviceClass.resource.k8s.io", "DeviceTaintRule.resource.k8s.io", "ResourceSlice.resource.k8s.io",
		"PriorityClass.scheduling.k8s.io",
		"MutatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
		"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return true
	}
	return false
}

func allowsCreateOnUpdate(kind string) bool {
	switch kind {
	case "Endpoints", "Event", "Event.events.k8s.io", "LimitRange", "Service",
		"Lease.coordination.k8s.io", "LeaseCandidate.coordination.k8s.io",
		"RuntimeClass.node.k8s.io",
		"ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
		"Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io":
		return true
	}
	return false
}

func requiresVersion(kind string) bool {
	switch kind {
	case "Lease.coordination.k8s.io", "LeaseCandidate.coordination.k8s.io",
		"ClusterTrustBundle.certificates.k8s.io", "PodCertificateRequest.certificates.k8s.io",
		"RuntimeClass.node.k8s.io",
		"PodDisruptionBudget.policy",
		"StorageVersion.internal.apiserver.k8s.io", "StorageVersionMigration.storagemigration.k8s.io",
		"CSIDriver.storage.k8s.io", "CSINode.storage.k8s.io", "CSIStorageCapacity.storage.k8s.io", "VolumeAttachment.storage.k8s.io",
		"MutatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
		"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return true
	}
	return false
}

func returnsDeleted(kind string) bool {
	switch kind {
	case "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota", "Service", "ServiceAccount",
		"DeviceClass.resource.k8s.io", "DeviceTaintRule.resource.k8s.io", "ResourceClaim.resource.k8s.io",
		"ResourceClaimTemplate.resource.k8s.io", "ResourceSlice.resource.k8s.io",
		"CSIDriver.storage.k8s.io", "CSINode.storage.k8s.io", "StorageClass.storage.k8s.io", "VolumeAttachment.storage.k8s.io",
		"VolumeAttributesClass.storage.k8s.io":
		return true
	}
	return false
}

func statusKeepsMetadata(kind string) bool {
	switch kind {
	case "PodCertificateRequest.certificates.k8s.io",
		"FlowSchema.flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
		"ServiceCIDR.networking.k8s.io",
		"DeviceTaintRule.resource.k8s.io", "ResourceClaim.resource.k8s.io",
		"StorageVersion.internal.apiserver.k8s.io", "StorageVersionMigration.storagemigration.k8s.io",
		"VolumeAttachment.storage.k8s.io",
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io":
		return true
	}
	return false
}
