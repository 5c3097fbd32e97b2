// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal"
)

// column is a column of the table of nodes.
type column struct {
	header string
	text   func(node *corev1.Node, now time.Time) string
}

func columns() []column {
	timeless := func(text func(*corev1.Node) string) func(*corev1.Node, time.Time) string {
		return func(node *corev1.Node, _ time.Time) string { return text(node) }
	}
	return []column{
		{"NAME", timeless(func(n *corev1.Node) string { return n.Name })},
		{"STATUS", timeless(statusText)},
		{"ROLES", timeless(rolesText)},
		{"AGE", func(n *corev1.Node, now time.Time) string { return terminal.Age(n.CreationTimestamp.Time, now) }},
		{"VERSION", timeless(versionText)},
		{"INTERNAL-IP", timeless(addressText)},
		{"ZONE", timeless(zoneText)},
		{"LABELS", timeless(labelsText)},
	}
}

// headers returns the headers of the columns.
func headers() (headers []string) {
	for _, column := range columns() {
		headers = append(headers, column.header)
	}
	return headers
}

// rows returns the rows of the first nodes by name, at most limit.
func rows(nodes cache.Snapshot[*corev1.Node], now time.Time, limit int) (rows []terminal.Row) {
	for _, node := range nodes.All() {
		if len(rows) == limit {
			break
		}
		row := terminal.Row{Key: node.Name, Style: nodeStyle(node)}
		for _, column := range columns() {
			row.Cells = append(row.Cells, column.text(node, now))
		}
		rows = append(rows, row)
	}
	return rows
}

// nodeStyle highlights nodes that are not ready, then cordoned nodes.
func nodeStyle(node *corev1.Node) terminal.Style {
	switch {
	case readiness(node) != corev1.ConditionTrue:
		return terminal.Red
	case node.Spec.Unschedulable:
		return terminal.Yellow
	}
	return ""
}

// nodeSummary returns the number of nodes with each status, the most frequent status first.
func nodeSummary(nodes cache.Snapshot[*corev1.Node]) string {
	byStatus := map[string]int{}
	for _, node := range nodes.All() {
		byStatus[statusText(node)]++
	}
	var parts []string
	for _, status := range slices.SortedFunc(maps.Keys(byStatus), func(a, b string) int {
		return cmp.Or(cmp.Compare(byStatus[b], byStatus[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%d %s", byStatus[status], status))
	}
	return strings.TrimSuffix(terminal.Plural(nodes.Len(), "node")+": "+strings.Join(parts, ", "), ": ")
}
