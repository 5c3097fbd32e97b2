// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ringLabel is the label of a node's release ring, which the simulation changes.
const ringLabel = "ring"

// machineType is an instance type of the simulated cloud provider.
type machineType struct {
	pool, name, arch string
	cpu, memoryGiB   int64
}

func machineTypes() []machineType {
	return []machineType{
		{"web", "m6.large", "amd64", 2, 8},
		{"web", "m6.xlarge", "amd64", 4, 16},
		{"batch", "c7g.4xlarge", "arm64", 16, 32},
		{"db", "r6.2xlarge", "amd64", 8, 64},
	}
}

// kubeletVersions returns the versions of the simulated kubelets, oldest first.
func kubeletVersions() []string { return []string{"v1.35.4", "v1.36.1", "v1.36.2"} }

// newSimulatedNode returns the n-th node of a cluster as its kubelet would register it, without the
// Ready condition. Node 0 is the control plane.
func newSimulatedNode(random *rand.Rand, n int) *corev1.Node {
	types := machineTypes()
	machine := types[random.IntN(len(types))]
	name := fmt.Sprintf("%s-%03d", machine.pool, n)
	labels := map[string]string{ringLabel: "stable", "pool": machine.pool}
	if n == 0 {
		machine, name = types[1], "control-plane-000"
		labels = map[string]string{ringLabel: "stable", controlPlaneLabel: ""}
	}
	zone := fmt.Sprintf("eu-1%c", 'a'+rune(random.IntN(3)))
	maps.Copy(labels, map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         machine.arch,
		corev1.LabelInstanceTypeStable: machine.name,
		corev1.LabelTopologyRegion:     "eu-1",
		corev1.LabelTopologyZone:       zone,
	})
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.NodeSpec{
			PodCIDR:    fmt.Sprintf("10.%d.%d.0/24", 128+n>>8&127, n&255),
			ProviderID: fmt.Sprintf("simulated://%s/i-%012x", zone, random.Int64N(1<<48)),
		},
		Status: kubeletStatus(machine, name, n, random),
	}
	node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	if n == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}}
	}
	return node
}

// kubeletStatus returns the status that a node's kubelet reports.
func kubeletStatus(machine machineType, name string, n int, random *rand.Rand) corev1.NodeStatus {
	versions := kubeletVersions()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(machine.cpu, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(machine.memoryGiB<<30, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(100<<30, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(110, resource.DecimalSI),
	}
	allocatable := capacity.DeepCopy()
	allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(machine.cpu*1000-80, resource.DecimalSI)
	allocatable[corev1.ResourceMemory] = *resource.NewQuantity(machine.memoryGiB<<30-800<<20, resource.BinarySI)
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: allocatable,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.%d", n>>16&127, n>>8&255, n&255)},
			{Type: corev1.NodeHostName, Address: name},
		},
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()),
			KernelVersion:           "6.12.48",
			OSImage:                 "Debian GNU/Linux 13 (trixie)",
			ContainerRuntimeVersion: "containerd://2.1.4",
			KubeletVersion:          versions[random.IntN(len(versions))],
			OperatingSystem:         "linux",
			Architecture:            machine.arch,
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
	}
}

func condition(name corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{
		Type: name, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
}

// setReady sets the Ready condition. Reason and message are those of a real cluster, where the
// kubelet or the node lifecycle controller sets them.
func setReady(node *corev1.Node, status corev1.ConditionStatus) {
	var reason, message string
	switch status {
	case corev1.ConditionTrue:
		reason, message = "KubeletReady", "kubelet is posting ready status"
	case corev1.ConditionFalse:
		reason, message = "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"
	case corev1.ConditionUnknown:
		reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	conditions := slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	node.Status.Conditions = append(conditions, condition(corev1.NodeReady, status, reason, message))
}

// setUnschedulable cordons or uncordons a node.
func setUnschedulable(node *corev1.Node, unschedulable bool) {
	node.Spec.Unschedulable = unschedulable
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	if unschedulable {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
}

// nextVersion returns the version after the node's, or "" if it has the newest.
func nextVersion(node *corev1.Node) string {
	versions := kubeletVersions()
	i := slices.Index(versions, node.Status.NodeInfo.KubeletVersion) + 1
	if i == len(versions) {
		return ""
	}
	return versions[i]
}
