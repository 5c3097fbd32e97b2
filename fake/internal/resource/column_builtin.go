// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// columnsOf returns the columns of a built-in type. A few common types have the columns of the real
// server, all others the default columns.
func columnsOf(example history.Object) []Column {
	switch example.(type) {
	case *corev1.Pod:
		return podColumns()
	case *corev1.Node:
		return nodeColumns()
	case *corev1.Namespace:
		return []Column{nameColumn(), column("Status", "string", cellOf(namespacePhase)), ageColumn()}
	case *corev1.ConfigMap:
		return []Column{nameColumn(), column("Data", "string", cellOf(configMapSize)), ageColumn()}
	case *appsv1.Deployment:
		return deploymentColumns()
	case *appsv1.ReplicaSet:
		return replicaSetColumns()
	case *coordinationv1.Lease:
		return []Column{nameColumn(), column("Holder", "string", cellOf(leaseHolder)), ageColumn()}
	}
	return defaultColumns()
}

// cellOf returns a Column.Cell for a function of a typed object.
func cellOf[T history.Object](cell func(T) any) func(history.Object) any {
	return func(obj history.Object) any { return cell(obj.(T)) }
}

func podColumns() []Column {
	return []Column{
		nameColumn(),
		column("Ready", "string", cellOf(podReady)),
		column("Status", "string", cellOf(podStatus)),
		column("Restarts", "string", cellOf(podRestarts)),
		ageColumn(),
		wide("IP", cellOf(func(p *corev1.Pod) any { return orNone(p.Status.PodIP) })),
		wide("Node", cellOf(func(p *corev1.Pod) any { return orNone(p.Spec.NodeName) })),
		wide("Nominated Node", cellOf(func(p *corev1.Pod) any { return orNone(p.Status.NominatedNodeName) })),
		wide("Readiness Gates", cellOf(podGates)),
	}
}

func podReady(p *corev1.Pod) any {
	ready := 0
	for _, c := range p.Status.ContainerStatuses {
		if c.Ready && c.State.Running != nil {
			ready++
		}
	}
	return fraction(ready, len(p.Spec.Containers))
}

// podStatus returns the reason why a container does not run, or else the phase.
func podStatus(p *corev1.Pod) any {
	status := string(p.Status.Phase)
	if p.Status.Reason != "" {
		status = p.Status.Reason
	}
	for _, c := range slices.Backward(p.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			status = c.State.Waiting.Reason
		}
		if c.State.Terminated != nil && c.State.Terminated.Reason != "" {
			status = c.State.Terminated.Reason
		}
	}
	if ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed; p.DeletionTimestamp != nil && !ended {
		return "Terminating"
	}
	return status
}

func podRestarts(p *corev1.Pod) any {
	restarts := 0
	for _, c := range p.Status.ContainerStatuses {
		restarts += int(c.RestartCount)
	}
	return strconv.Itoa(restarts)
}

func podGates(p *corev1.Pod) any {
	passed := 0
	for _, gate := range p.Spec.ReadinessGates {
		if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			passed++
		}
	}
	if len(p.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	return fraction(passed, len(p.Spec.ReadinessGates))
}

func nodeColumns() []Column {
	return []Column{
		nameColumn(),
		column("Status", "string", cellOf(nodeStatus)),
		column("Roles", "string", cellOf(nodeRoles)),
		ageColumn(),
		column("Version", "string", cellOf(func(n *corev1.Node) any { return n.Status.NodeInfo.KubeletVersion })),
		wide("Internal-IP", cellOf(nodeAddress(corev1.NodeInternalIP))),
		wide("External-IP", cellOf(nodeAddress(corev1.NodeExternalIP))),
		wide("OS-Image", cellOf(func(n *corev1.Node) any { return orUnknown(n.Status.NodeInfo.OSImage) })),
		wide("Kernel-Version", cellOf(nodeKernel)),
		wide("Container-Runtime", cellOf(func(n *corev1.Node) any { return orUnknown(n.Status.NodeInfo.ContainerRuntimeVersion) })),
	}
}

func nodeStatus(n *corev1.Node) any {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(n *corev1.Node) any {
	var roles []string
	for key, value := range n.Labels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if key == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return orNone(strings.Join(slices.Compact(roles), ","))
}

func nodeAddress(kind corev1.NodeAddressType) func(*corev1.Node) any {
	return func(n *corev1.Node) any {
		for _, address := range n.Status.Addresses {
			if address.Type == kind {
				return address.Address
			}
		}
		return "<none>"
	}
}

func nodeKernel(n *corev1.Node) any {
	kernel := orUnknown(n.Status.NodeInfo.KernelVersion)
	if n.Status.NodeInfo.Architecture != "" {
		kernel += " (" + n.Status.NodeInfo.Architecture + ")"
	}
	return kernel
}

func deploymentColumns() []Column {
	return []Column{
		nameColumn(),
		column("Ready", "string", cellOf(func(d *appsv1.Deployment) any {
			return fraction(d.Status.ReadyReplicas, replicasOrOne(d.Spec.Replicas))
		})),
		column("Up-to-date", "string", cellOf(func(d *appsv1.Deployment) any { return int64(d.Status.UpdatedReplicas) })),
		column("Available", "string", cellOf(func(d *appsv1.Deployment) any { return int64(d.Status.AvailableReplicas) })),
		ageColumn(),
		wide("Containers", cellOf(func(d *appsv1.Deployment) any { return containerNames(d.Spec.Template.Spec) })),
		wide("Images", cellOf(func(d *appsv1.Deployment) any { return containerImages(d.Spec.Template.Spec) })),
		wide("Selector", cellOf(func(d *appsv1.Deployment) any { return metav1.FormatLabelSelector(d.Spec.Selector) })),
	}
}

func containerNames(p corev1.PodSpec) string {
	var names []string
	for _, c := range p.Containers {
		names = append(names, c.Name)
	}
	return strings.Join(names, ",")
}

func containerImages(p corev1.PodSpec) string {
	var images []string
	for _, c := range p.Containers {
		images = append(images, c.Image)
	}
	return strings.Join(images, ",")
}

func replicaSetColumns() []Column {
	return []Column{
		nameColumn(),
		column("Desired", "integer", cellOf(func(r *appsv1.ReplicaSet) any { return int64(replicasOrOne(r.Spec.Replicas)) })),
		column("Current", "integer", cellOf(func(r *appsv1.ReplicaSet) any { return int64(r.Status.Replicas) })),
		column("Ready", "integer", cellOf(func(r *appsv1.ReplicaSet) any { return int64(r.Status.ReadyReplicas) })),
		ageColumn(),
		wide("Containers", cellOf(func(r *appsv1.ReplicaSet) any { return containerNames(r.Spec.Template.Spec) })),
		wide("Images", cellOf(func(r *appsv1.ReplicaSet) any { return containerImages(r.Spec.Template.Spec) })),
		wide("Selector", cellOf(func(r *appsv1.ReplicaSet) any { return metav1.FormatLabelSelector(r.Spec.Selector) })),
	}
}

func namespacePhase(n *corev1.Namespace) any { return string(n.Status.Phase) }

func configMapSize(m *corev1.ConfigMap) any { return int64(len(m.Data) + len(m.BinaryData)) }

func leaseHolder(l *coordinationv1.Lease) any {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}
