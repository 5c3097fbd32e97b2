package resource

import "k8s.io/apimachinery/pkg/runtime/schema"

// Rules is what kinds do differently when they are written. The zero value is what most do.
type Rules struct {
	Generation           bool // metadata.generation counts the changes of the content
	GenerationAnnotation bool // and of the annotations
	KeepsStatus          bool // a created object keeps the status that it comes with
	CreateOnUpdate       bool // an update of what does not exist creates it
	NeedsVersion         bool // an update must say the version that it replaces
	ReturnsDeleted       bool // a delete is answered with the object instead of a Status
	StatusKeepsLabels    bool // the status subresource leaves the labels as they are; for the others it writes all metadata
	StatusKeepsMetadata  bool // it writes no metadata at all
	Phase                string
}

// rulesOf returns the rules of a built-in kind, as the strategies under pkg/registry of Kubernetes 1.36 have them.
func rulesOf(kind schema.GroupKind) Rules {
	name := kind.String()
	return Rules{
		Generation:           counted(name),
		GenerationAnnotation: name == "Deployment.apps",
		KeepsStatus:          name == "Node",
		CreateOnUpdate:       createdOnUpdate(name),
		NeedsVersion:         neverUnconditional(name),
		ReturnsDeleted:       returned(name),
		StatusKeepsLabels:    name == "Deployment.apps",
		StatusKeepsMetadata:  statusAlone(name),
		Phase:                firstPhase(name),
	}
}

func counted(kind string) bool {
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

func createdOnUpdate(kind string) bool {
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

func neverUnconditional(kind string) bool {
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

func returned(kind string) bool {
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

func statusAlone(kind string) bool {
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

// firstPhase is the status.phase of a new object.
func firstPhase(kind string) string {
	switch kind {
	case "Pod", "PersistentVolume", "PersistentVolumeClaim":
		return "Pending"
	case "Namespace":
		return "Active"
	}
	return ""
}
