// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// typed makes informers of a generated type.
type typed struct {
	kind schema.GroupVersionKind
	new  func(lw cache.ListerWatcher, storage Storage) (*Informer, error)
}

func of[T cache.Object](example T) typed {
	kinds, _, err := scheme.Scheme.ObjectKinds(example)
	if err != nil {
		panic(err) // client-go's scheme has all types of the table
	}
	return typed{kinds[0], func(lw cache.ListerWatcher, storage Storage) (*Informer, error) {
		return FromListWatch(lw, example, storage)
	}}
}

// generated returns the kinds of client-go's scheme, each in its newest version.
func generated() []typed { //nolint:funlen // a table
	return []typed{
		of(&admissionregistrationv1.MutatingAdmissionPolicy{}),
		of(&admissionregistrationv1.MutatingAdmissionPolicyBinding{}),
		of(&admissionregistrationv1.MutatingWebhookConfiguration{}),
		of(&admissionregistrationv1.ValidatingAdmissionPolicy{}),
		of(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}),
		of(&admissionregistrationv1.ValidatingWebhookConfiguration{}),
		of(&appsv1.ControllerRevision{}),
		of(&appsv1.DaemonSet{}),
		of(&appsv1.Deployment{}),
		of(&appsv1.ReplicaSet{}),
		of(&appsv1.StatefulSet{}),
		of(&autoscalingv2.HorizontalPodAutoscaler{}),
		of(&batchv1.CronJob{}),
		of(&batchv1.Job{}),
		of(&certificatesv1.CertificateSigningRequest{}),
		of(&certificatesv1beta1.ClusterTrustBundle{}),
		of(&certificatesv1beta1.PodCertificateRequest{}),
		of(&coordinationv1.Lease{}),
		of(&coordinationv1beta1.LeaseCandidate{}),
		of(&corev1.ConfigMap{}),
		of(&corev1.Endpoints{}), //nolint:staticcheck // deprecated, but clusters have them
		of(&corev1.Event{}),
		of(&corev1.LimitRange{}),
		of(&corev1.Namespace{}),
		of(&corev1.Node{}),
		of(&corev1.PersistentVolume{}),
		of(&corev1.PersistentVolumeClaim{}),
		of(&corev1.Pod{}),
		of(&corev1.PodTemplate{}),
		of(&corev1.ReplicationController{}),
		of(&corev1.ResourceQuota{}),
		of(&corev1.Secret{}),
		of(&corev1.Service{}),
		of(&corev1.ServiceAccount{}),
		of(&discoveryv1.EndpointSlice{}),
		of(&eventsv1.Event{}),
		of(&flowcontrolv1.FlowSchema{}),
		of(&flowcontrolv1.PriorityLevelConfiguration{}),
		of(&networkingv1.IPAddress{}),
		of(&networkingv1.Ingress{}),
		of(&networkingv1.IngressClass{}),
		of(&networkingv1.NetworkPolicy{}),
		of(&networkingv1.ServiceCIDR{}),
		of(&nodev1.RuntimeClass{}),
		of(&policyv1.PodDisruptionBudget{}),
		of(&rbacv1.ClusterRole{}),
		of(&rbacv1.ClusterRoleBinding{}),
		of(&rbacv1.Role{}),
		of(&rbacv1.RoleBinding{}),
		of(&resourcev1.DeviceClass{}),
		of(&resourcev1.ResourceClaim{}),
		of(&resourcev1.ResourceClaimTemplate{}),
		of(&resourcev1.ResourceSlice{}),
		of(&resourcev1beta2.DeviceTaintRule{}),
		of(&schedulingv1.PriorityClass{}),
		of(&storagev1.CSIDriver{}),
		of(&storagev1.CSINode{}),
		of(&storagev1.CSIStorageCapacity{}),
		of(&storagev1.StorageClass{}),
		of(&storagev1.VolumeAttachment{}),
		of(&storagev1.VolumeAttributesClass{}),
		of(&storagemigrationv1beta1.StorageVersionMigration{}),
	}
}

// HasType reports whether the informers of a kind decode a generated type. Those of other kinds
// read JSON only.
func HasType(kind schema.GroupVersionKind) bool {
	_, ok := typedOf(kind)
	return ok
}

// typedOf returns the generated type of a kind. It returns false if the objects of the kind are
// unstructured: custom resources, and kinds and versions that the table does not have.
func typedOf(kind schema.GroupVersionKind) (typed, bool) {
	for _, t := range generated() {
		if t.kind == kind {
			return t, true
		}
	}
	return typed{}, false
}

// restClient returns the client of a group and version of generated types.
func restClient(config *rest.Config, version schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", version, err)
	}
	return client, nil
}
