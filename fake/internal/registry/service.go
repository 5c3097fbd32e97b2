// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/netip"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

// The range of node ports, which is that of the real server.
const (
	firstNodePort = 30_000
	nodePorts     = 2_768
)

// serviceAllocator assigns IP addresses and node ports to Services, for a cluster with IPv4 only.
// The real server picks them at random; they are a sequence here, so that tests are reproducible.
// It does not see which ones clients have chosen, and does not reuse any before the range is used
// up. It is safe for concurrent use.
type serviceAllocator struct {
	ips   atomic.Uint32
	ports atomic.Uint32
}

// nextIP returns an address of 10.0.0.0/8.
func (a *serviceAllocator) nextIP() string {
	n := a.ips.Add(1)
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

func (a *serviceAllocator) nextPort() int32 {
	return firstNodePort + int32((a.ports.Add(1)-1)%nodePorts)
}

// assign sets the addresses, address families and node ports that a Service lacks.
func (a *serviceAllocator) assign(service *corev1.Service) {
	spec := &service.Spec
	if spec.Type != corev1.ServiceTypeExternalName {
		if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
		setFamilies(spec)
		if spec.ClusterIP == "" {
			spec.ClusterIP = a.nextIP()
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
	}
	if !hasNodePorts(spec) {
		return
	}
	for i := range spec.Ports {
		if spec.Ports[i].NodePort == 0 {
			spec.Ports[i].NodePort = a.nextPort()
		}
	}
	if hasHealthCheck(spec) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = a.nextPort()
	}
}

// setFamilies sets the families of the addresses of a Service. A headless one without a selector,
// whose endpoints may be of any family, has both.
func setFamilies(spec *corev1.ServiceSpec) {
	manual := spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
		if manual {
			spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
		}
	}
	for i, ip := range spec.ClusterIPs {
		if address, err := netip.ParseAddr(ip); err == nil && i >= len(spec.IPFamilies) {
			spec.IPFamilies = append(slices.Clip(spec.IPFamilies), familyOf(address))
		}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if manual && len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		other := corev1.IPv6Protocol
		if spec.IPFamilies[0] == other {
			other = corev1.IPv4Protocol
		}
		spec.IPFamilies = append(slices.Clip(spec.IPFamilies), other)
	}
}

func familyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// keep sets what an update of a Service lacks to what the Service has. An update to another type
// clears the fields that only the old type has, unless it changes them.
func (a *serviceAllocator) keep(next, current *corev1.Service) {
	to, from := &next.Spec, &current.Spec
	if to.Type != corev1.ServiceTypeExternalName && from.Type != corev1.ServiceTypeExternalName {
		keepAddresses(to, from)
	}
	if hasNodePorts(to) && hasNodePorts(from) {
		keepNodePorts(to.Ports, from.Ports)
	}
	if hasHealthCheck(to) && hasHealthCheck(from) && to.HealthCheckNodePort == 0 {
		to.HealthCheckNodePort = from.HealthCheckNodePort
	}
	clearAddresses(to, from)
	clearPorts(to, from)
	if to.Type != corev1.ServiceTypeLoadBalancer {
		next.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	a.assign(next)
}

func keepAddresses(to, from *corev1.ServiceSpec) {
	if to.ClusterIP == "" {
		to.ClusterIP = from.ClusterIP
	}
	if len(to.ClusterIPs) == 0 {
		to.ClusterIPs = from.ClusterIPs
	}
	if to.ClusterIP != from.ClusterIP && slices.Equal(to.ClusterIPs, from.ClusterIPs) {
		to.ClusterIPs = []string{to.ClusterIP}
	}
	if to.IPFamilyPolicy == nil {
		to.IPFamilyPolicy = from.IPFamilyPolicy
	}
}

// keepNodePorts keeps the node ports of the ports with the same names.
func keepNodePorts(to, from []corev1.ServicePort) {
	byName := map[string]int32{}
	for _, port := range from {
		byName[port.Name] = port.NodePort
	}
	for i := range to {
		old := byName[to[i].Name]
		taken := slices.ContainsFunc(to, func(port corev1.ServicePort) bool { return port.NodePort == old })
		if to[i].NodePort == 0 && !taken {
			to[i].NodePort = old
		}
	}
}

// clearAddresses clears the addresses of a Service that becomes an ExternalName.
func clearAddresses(to, from *corev1.ServiceSpec) {
	if to.Type != corev1.ServiceTypeExternalName || from.Type == corev1.ServiceTypeExternalName {
		return
	}
	if to.ClusterIP == from.ClusterIP && slices.Equal(to.ClusterIPs, from.ClusterIPs) {
		to.ClusterIP, to.ClusterIPs = "", nil
	}
	if slices.Equal(to.IPFamilies, from.IPFamilies) {
		to.IPFamilies = nil
	}
	clearEqual(&to.IPFamilyPolicy, from.IPFamilyPolicy)
}

// clearPorts clears the node ports, and what only load balancers have, of a Service that becomes
// one without.
func clearPorts(to, from *corev1.ServiceSpec) {
	hasPort := func(ports []corev1.ServicePort, n int32) bool {
		return n == 0 || slices.ContainsFunc(ports, func(port corev1.ServicePort) bool { return port.NodePort == n })
	}
	added := slices.ContainsFunc(to.Ports, func(port corev1.ServicePort) bool { return !hasPort(from.Ports, port.NodePort) })
	if isExternal(from) && !isExternal(to) {
		for i := range to.Ports {
			if !added {
				to.Ports[i].NodePort = 0
			}
		}
		if to.ExternalTrafficPolicy == from.ExternalTrafficPolicy && len(to.ExternalIPs) == 0 {
			to.ExternalTrafficPolicy = ""
		}
	}
	if hasHealthCheck(from) && !hasHealthCheck(to) && to.HealthCheckNodePort == from.HealthCheckNodePort {
		to.HealthCheckNodePort = 0
	}
	if from.Type == corev1.ServiceTypeLoadBalancer && to.Type != corev1.ServiceTypeLoadBalancer {
		clearEqual(&to.AllocateLoadBalancerNodePorts, from.AllocateLoadBalancerNodePorts)
		clearEqual(&to.LoadBalancerClass, from.LoadBalancerClass)
	}
}

// clearEqual clears a field that has the same value as another one.
func clearEqual[T comparable](field **T, other *T) {
	if *field != nil && other != nil && **field == *other {
		*field = nil
	}
}

// isExternal reports whether a Service is of a type with node ports.
func isExternal(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

// hasNodePorts reports whether the server assigns node ports to a Service.
func hasNodePorts(spec *corev1.ServiceSpec) bool {
	allocates := spec.AllocateLoadBalancerNodePorts
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer && (allocates == nil || *allocates)
}

// hasHealthCheck reports whether the server assigns a port for health checks to a Service.
func hasHealthCheck(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}
