// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes is an unlimited set of nodes. Its methods are safe for concurrent use.
type Nodes struct{ seed uint64 }

// NewNodes returns the set of a seed.
func NewNodes(seed uint64) *Nodes { return &Nodes{seed} }

// Node returns the i-th node. The caller may change it.
func (n *Nodes) Node(i int) *corev1.Node {
	r := newRandom(n.seed, streamNode, i)
	zone := "eu-central-1" + pick(r, "a", "b", "c")
	created := r.moment(90)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: NodeName(i), UID: r.uid(), ResourceVersion: Version(i), CreationTimestamp: created,
			Labels: nodeLabels(i, zone, r),
			Annotations: map[string]string{
				"alpha.kubernetes.io/provided-node-ip":                   nodeIP(i),
				"csi.volume.kubernetes.io/nodeid":                        fmt.Sprintf(`{"ebs.csi.aws.com":"i-%s"}`, r.hex(17)),
				"node.alpha.kubernetes.io/ttl":                           "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Spec: corev1.NodeSpec{
			PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 64+i/256%64, i%256), ProviderID: "aws:///" + zone + "/i-" + r.hex(17),
		},
		Status: nodeStatus(i, created, r),
	}
	node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	node.ManagedFields = nodeManagers(node)
	return node
}

// Take returns the first count nodes.
func (n *Nodes) Take(count int) []*corev1.Node {
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		nodes[i] = n.Node(i)
	}
	return nodes
}

func nodeLabels(i int, zone string, r random) map[string]string {
	machine := pick(r, "m7i.4xlarge", "m7i.8xlarge", "c7g.4xlarge", "r7i.2xlarge")
	return map[string]string{
		corev1.LabelArchStable:          "amd64",
		corev1.LabelHostname:            NodeName(i),
		corev1.LabelInstanceTypeStable:  machine,
		corev1.LabelOSStable:            "linux",
		corev1.LabelTopologyRegion:      "eu-central-1",
		corev1.LabelTopologyZone:        zone,
		"beta.kubernetes.io/arch":       "amd64",
		"beta.kubernetes.io/os":         "linux",
		"node.kubernetes.io/pool":       r.team(),
		"topology.ebs.csi.aws.com/zone": zone,
	}
}

func nodeStatus(i int, created metav1.Time, r random) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(fmt.Sprint(pick(r, 8, 16, 32))),
		corev1.ResourceMemory:           resource.MustParse(fmt.Sprintf("%dKi", r.between(30_000_000, 130_000_000))),
		corev1.ResourceEphemeralStorage: resource.MustParse("104845292Ki"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: capacity.DeepCopy(),
		Conditions:  nodeConditions(created, r),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nodeIP(i)}, {Type: corev1.NodeHostName, Address: NodeName(i)},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: r.hex(32), SystemUUID: string(r.uid()), BootID: string(r.uid()), KernelVersion: "6.12.48-1.amzn2023.x86_64",
			OSImage: "Amazon Linux 2023.9.20251014", ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v1.36.2",
			OperatingSystem: "linux", Architecture: "amd64",
		},
		Images: nodeImages(r),
	}
}

func nodeConditions(created metav1.Time, r random) []corev1.NodeCondition {
	beat := later(created, r.between(3600, 30*24*3600))
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: beat, LastTransitionTime: created,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// nodeImages returns the images on a node, which are most of its size.
func nodeImages(r random) []corev1.ContainerImage {
	images := make([]corev1.ContainerImage, r.between(10, 50))
	for i := range images {
		name := "registry.example.com/" + r.team() + "/" + r.word()
		images[i] = corev1.ContainerImage{
			Names: []string{name + "@sha256:" + r.hex(64), name + ":" + version(r)}, SizeBytes: int64(r.between(5, 900)) << 20,
		}
	}
	return images
}

// nodeManagers returns a node's managedFields: the kubelet registers the node and reports its
// status, and the controller manager assigns the Pod CIDR.
func nodeManagers(node *corev1.Node) []metav1.ManagedFieldsEntry {
	created := node.CreationTimestamp
	registered := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations}}
	registered.Spec.ProviderID = node.Spec.ProviderID
	addressed := &corev1.Node{Spec: corev1.NodeSpec{PodCIDR: node.Spec.PodCIDR}}
	reported := &corev1.Node{Status: *node.Status.DeepCopy()}
	return []metav1.ManagedFieldsEntry{
		managerEntry(managerKubelet, "", fieldsV1(registered, "metadata", "spec"), created),
		managerEntry(managerController, "", fieldsV1(addressed, "spec"), later(created, 4)),
		managerEntry(managerKubelet, "status", fieldsV1(reported, "status"), node.Status.Conditions[0].LastHeartbeatTime),
	}
}
