// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func setReplicationController(rc *corev1.ReplicationController) {
	setNil(&rc.Spec.Replicas, 1)
	if rc.Spec.Template == nil {
		return
	}
	copyLabels(&rc.Spec.Selector, rc.Spec.Template.Labels)
	copyLabels(&rc.Labels, rc.Spec.Template.Labels)
	setPodSpec(&rc.Spec.Template.Spec)
}

// setService sets the defaults of a Service. Its addresses are not among them: the registry assigns
// them.
func setService(service *corev1.Service) {
	spec := &service.Spec
	setZero(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	setZero(&spec.Type, corev1.ServiceTypeClusterIP)
	setAffinityTimeout(spec)
	for i := range spec.Ports {
		setServicePort(&spec.Ports[i])
	}
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	external := balanced || spec.Type == corev1.ServiceTypeNodePort
	if external || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0 {
		setZero(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	switch {
	case external || spec.Type == corev1.ServiceTypeClusterIP:
		setNil(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	case spec.Type == corev1.ServiceTypeExternalName:
		spec.InternalTrafficPolicy = nil
	}
	if balanced {
		setNil(&spec.AllocateLoadBalancerNodePorts, true)
		setIPModes(service.Status.LoadBalancer.Ingress)
	}
}

func setAffinityTimeout(spec *corev1.ServiceSpec) {
	switch config := spec.SessionAffinityConfig; spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
				ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(corev1.DefaultClientIPServiceAffinitySeconds)},
			}
		}
	}
}

func setServicePort(port *corev1.ServicePort) {
	setZero(&port.Protocol, corev1.ProtocolTCP)
	if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
		port.TargetPort = intstr.FromInt32(port.Port)
	}
}

func setIPModes(ingress []corev1.LoadBalancerIngress) {
	for i := range ingress {
		if ingress[i].IP != "" {
			setNil(&ingress[i].IPMode, corev1.LoadBalancerIPModeVIP)
		}
	}
}

// setSecret sets the type of a Secret, and moves stringData, which is never read, to data.
func setSecret(secret *corev1.Secret) {
	setZero(&secret.Type, corev1.SecretTypeOpaque)
	if secret.Data == nil && len(secret.StringData) > 0 {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

func setEndpoints(endpoints *corev1.Endpoints) { //nolint:staticcheck // as in Set
	for _, subset := range endpoints.Subsets {
		for i := range subset.Ports {
			setZero(&subset.Ports[i].Protocol, corev1.ProtocolTCP)
		}
	}
}

// setNode makes the list of address ranges agree with the single range, which decides. A node
// without allocatable resources has its whole capacity.
func setNode(node *corev1.Node) {
	spec := &node.Spec
	switch {
	case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
		spec.PodCIDRs = []string{spec.PodCIDR}
	case len(spec.PodCIDRs) > 0:
		spec.PodCIDR = spec.PodCIDRs[0]
	}
	roundUp(node.Status.Capacity)
	roundUp(node.Status.Allocatable)
	if node.Status.Allocatable == nil && node.Status.Capacity != nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}

func setLimitRange(limits *corev1.LimitRange) {
	for i := range limits.Spec.Limits {
		item := &limits.Spec.Limits[i]
		if item.Type == corev1.LimitTypeContainer {
			copyQuantities(&item.Default, item.Max)
			copyQuantities(&item.DefaultRequest, item.Default)
			copyQuantities(&item.DefaultRequest, item.Min)
		}
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			roundUp(list)
		}
	}
}

// copyQuantities adds the quantities of resources that are missing in a list.
func copyQuantities(list *corev1.ResourceList, from corev1.ResourceList) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	for name, quantity := range from {
		if _, ok := (*list)[name]; !ok {
			(*list)[name] = quantity.DeepCopy()
		}
	}
}
