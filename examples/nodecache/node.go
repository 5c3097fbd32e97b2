// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/terminal"
)

const rolePrefix = "node-role.kubernetes.io/"

// columns returns the headers of the columns that kubectl get nodes prints, and cells those of a
// node.
func columns() []string { return []string{"NAME", "STATUS", "ROLES", "AGE", "VERSION"} }

func cells(node *corev1.Node, now time.Time) []string {
	age := duration.HumanDuration(max(0, now.Sub(node.CreationTimestamp.Time)))
	return []string{node.Name, statusOf(node), rolesOf(node), age, node.Status.NodeInfo.KubeletVersion}
}

// isReady reports whether the Ready condition is true.
func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func statusOf(node *corev1.Node) string {
	text := "NotReady"
	if isReady(node) {
		text = "Ready"
	}
	if node.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
}

func rolesOf(node *corev1.Node) string {
	var roles []string
	for label := range node.Labels {
		if role, ok := strings.CutPrefix(label, rolePrefix); ok {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return "<none>"
	}
	slices.Sort(roles)
	return strings.Join(roles, ",")
}

// style highlights nodes that are not ready, then cordoned ones.
func style(node *corev1.Node) terminal.Style {
	switch {
	case !isReady(node):
		return terminal.Red
	case node.Spec.Unschedulable:
		return terminal.Yellow
	}
	return ""
}

// changesText describes an update by the cells that it has changed.
func changesText(before, after *corev1.Node) string {
	var changes []string
	now := time.Now()
	from, to := cells(before, now), cells(after, now)
	for i, column := range columns() {
		if from[i] != to[i] {
			changes = append(changes, fmt.Sprintf("%s %s -> %s", column, from[i], to[i]))
		}
	}
	if len(changes) == 0 {
		return "no change in the columns shown"
	}
	return strings.Join(changes, "; ")
}

// summary counts nodes and those that are ready.
func summary(nodes cache.Snapshot[*corev1.Node]) string {
	ready := 0
	for _, node := range nodes.All() {
		if isReady(node) {
			ready++
		}
	}
	return fmt.Sprintf("%d nodes, %d ready", nodes.Len(), ready)
}
