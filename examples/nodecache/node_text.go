package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// What kubectl get nodes says of a node, in its words.

const (
	rolePrefix        = "node-role.kubernetes.io/"
	controlPlaneLabel = rolePrefix + "control-plane"
	none              = "<none>"
)

func isControlPlane(node *corev1.Node) bool {
	_, ok := node.Labels[controlPlaneLabel]
	return ok
}

// readiness returns the status of the Ready condition, empty if there is none.
func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// statusText returns what stands in the column STATUS.
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

// labelsText returns the labels that the cluster's owners gave the node.
func labelsText(node *corev1.Node) string {
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
		if !isKubernetesOwn(key) {
			labels = append(labels, key+"="+node.Labels[key])
		}
	}
	return orNone(strings.Join(labels, ","))
}

// isKubernetesOwn tells whether a label's name is one that Kubernetes has reserved
// for itself.
func isKubernetesOwn(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	for _, own := range []string{"kubernetes.io", "k8s.io"} {
		if strings.Contains(key, "/") && (domain == own || strings.HasSuffix(domain, "."+own)) {
			return true
		}
	}
	return false
}

func zoneText(node *corev1.Node) string { return orNone(node.Labels[corev1.LabelTopologyZone]) }

func addressText(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return none
}

func ageText(node *corev1.Node, now time.Time) string {
	if node.CreationTimestamp.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(0, now.Sub(node.CreationTimestamp.Time)))
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// difference says what an update has changed of what is shown.
func difference(before, after *corev1.Node) string {
	var changes []string
	for _, field := range []struct {
		name string
		text func(*corev1.Node) string
	}{
		{"", statusText},
		{"roles ", rolesText},
		{"version ", func(n *corev1.Node) string { return n.Status.NodeInfo.KubeletVersion }},
		{"address ", addressText},
		{"zone ", zoneText},
		{"labels ", labelsText},
	} {
		if was, is := field.text(before), field.text(after); was != is {
			changes = append(changes, fmt.Sprintf("%s%s -> %s", field.name, was, is))
		}
	}
	if len(changes) == 0 {
		return "something that is not shown"
	}
	return strings.Join(changes, "; ")
}
