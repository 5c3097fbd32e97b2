// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeName returns the name of the node with a number.
func NodeName(number int) string {
	return fmt.Sprintf("ip-10-0-%d-%d.example.internal", number/250, number%250+1)
}

// NewNode returns the node with a number, in one of three zones, as its kubelet registers it.
func NewNode(seed uint64, number int) *corev1.Node {
	d := newDraw(seed, number)
	zone := fmt.Sprintf("eu-central-1%c", 'a'+number%3)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: NodeName(number),
			Labels: map[string]string{
				corev1.LabelArchStable:         "amd64",
				corev1.LabelOSStable:           "linux",
				corev1.LabelHostname:           NodeName(number),
				corev1.LabelInstanceTypeStable: pick(d, "m6i.2xlarge", "m6i.4xlarge", "c6i.4xlarge", "r6i.2xlarge"),
				corev1.LabelTopologyZone:       zone,
				corev1.LabelTopologyRegion:     "eu-central-1",
				"node.example.com/pool":        pick(d, "general", "batch", "ingress"),
			},
			Annotations: map[string]string{
				"node.alpha.kubernetes.io/ttl":                           "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
				"csi.volume.kubernetes.io/nodeid":                        fmt.Sprintf(`{"ebs.csi.example.com":"i-%s"}`, d.hex(17)),
			},
		},
		Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///%s/i-%s", zone, d.hex(17))},
	}
}

// NodeStatus returns the status that the kubelet reports at a time. Reports of one node differ only
// in heartbeat times and readiness, like most updates of Nodes in production.
func NodeStatus(seed uint64, node *corev1.Node, ready bool, at time.Time) corev1.NodeStatus {
	d := drawFor(seed, node.Name)
	capacity := resources(16000, 65536)
	capacity[corev1.ResourcePods] = resource.MustParse("110")
	capacity[corev1.ResourceEphemeralStorage] = resource.MustParse("200Gi")
	return corev1.NodeStatus{
		Capacity:        capacity,
		Allocatable:     capacity,
		Conditions:      nodeConditions(ready, at),
		Addresses:       nodeAddresses(d, node.Name),
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: d.hex(32), SystemUUID: d.uid(), BootID: d.uid(),
			KernelVersion: "6.12.31", OSImage: "Debian GNU/Linux 13 (trixie)", ContainerRuntimeVersion: "containerd://2.1.4",
			KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64",
		},
		Images: images(d),
	}
}

func nodeConditions(ready bool, at time.Time) []corev1.NodeCondition {
	status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}
	var all []corev1.NodeCondition
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
	} {
		all = append(all, corev1.NodeCondition{
			Type: kind, Status: status[ready && kind == corev1.NodeReady], Reason: "Kubelet" + string(kind),
			LastHeartbeatTime: metav1.NewTime(at), LastTransitionTime: metav1.NewTime(at),
		})
	}
	return all
}

func nodeAddresses(d draw, name string) []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address(d, 10)},
		{Type: corev1.NodeHostName, Address: name},
		{Type: corev1.NodeInternalDNS, Address: name},
	}
}

// images returns 10 to 50 images. The kubelet reports up to 50, which make up most of a Node's
// size.
func images(d draw) []corev1.ContainerImage {
	var all []corev1.ContainerImage
	for range d.between(10, 50) {
		name := "registry.example.com/" + d.suffix(8)
		all = append(all, corev1.ContainerImage{
			Names:     []string{name + "@sha256:" + d.hex(64), fmt.Sprintf("%s:%d.%d", name, d.IntN(9), d.IntN(40))},
			SizeBytes: int64(d.between(1<<20, 1<<30)),
		})
	}
	return all
}
