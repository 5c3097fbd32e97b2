// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func setNetworkPolicy(policy *networkingv1.NetworkPolicy) {
	spec := &policy.Spec
	if len(spec.PolicyTypes) == 0 {
		spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(spec.Egress) > 0 {
			spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for _, rule := range spec.Ingress {
		setPolicyPorts(rule.Ports)
	}
	for _, rule := range spec.Egress {
		setPolicyPorts(rule.Ports)
	}
}

func setPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		setNil(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func setIngressClass(class *networkingv1.IngressClass) {
	if class.Spec.Parameters != nil {
		setNil(&class.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}
