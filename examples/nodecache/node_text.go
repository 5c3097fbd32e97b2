// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	rolePrefix        = "node-role.kubernetes.io/"
	controlPlaneLabel = rolePrefix + "control-plane"
	none              = "<none>"
)

func isControlPlane(node *corev1.Node) bool {
	_, ok := node.Labels[controlPlaneLabel]
	return ok
}

// readiness returns the status of the Ready condition, or "" if the node has none.
func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// statusText returns the column STATUS of kubectl get nodes. The functions below return its other
// columns.
func statusText(node *corev1.Node) string {
	var text string
	switch readiness(node) {
	case corev1.ConditionTrue:
		text = "Ready"
	case "":
		text = "Unknown"
	default:
		text = "NotReady"
	}
	if node.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
}

func rolesText(node *corev1.Node) string {
	var roles []string
	for key, value := range node.Labels {
		if role, ok := strings.CutPrefix(key, rolePrefix); ok && role != "" {
			roles = append(roles, role)
		} else if key == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return orNone(strings.Join(slices.Compact(roles), ","))
}

// labelsText returns the node's labels, except those that Kubernetes reserves for itself.
func labelsText(node *corev1.Node) string {
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
		if !isReserved(key) {
			labels = append(labels, key+"="+node.Labels[key])
		}
	}
	return orNone(strings.Join(labels, ","))
}

// isReserved reports whether a label key is in a domain that Kubernetes reserves for itself.
func isReserved(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	for _, reserved := range []string{"kubernetes.io", "k8s.io"} {
		if strings.Contains(key, "/") && (domain == reserved || strings.HasSuffix(domain, "."+reserved)) {
			return true
		}
	}
	return false
}

// versionText returns the kubelet's version, which is empty until the kubelet has reported it.
func versionText(node *corev1.Node) string { return orNone(node.Status.NodeInfo.KubeletVersion) }

func zoneText(node *corev1.Node) string { return orNone(node.Labels[corev1.LabelTopologyZone]) }

func addressText(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return none
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// changesText describes the changes of an update in the columns of the table.
func changesText(before, after *corev1.Node) string {
	var changes []string
	for _, field := range []struct {
		name string
		text func(*corev1.Node) string
	}{
		{"", statusText},
		{"roles ", rolesText},
		{"version ", versionText},
		{"address ", addressText},
		{"zone ", zoneText},
		{"labels ", labelsText},
	} {
		if from, to := field.text(before), field.text(after); from != to {
			changes = append(changes, fmt.Sprintf("%s%s -> %s", field.name, from, to))
		}
	}
	if len(changes) == 0 {
		return "no change in the columns shown"
	}
	return strings.Join(changes, "; ")
}
