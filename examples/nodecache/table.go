package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// columns are what the table shows of a node.
func columns() []struct {
	head string
	text func(node *corev1.Node, now time.Time) string
} {
	plain := func(text func(*corev1.Node) string) func(*corev1.Node, time.Time) string {
		return func(node *corev1.Node, _ time.Time) string { return text(node) }
	}
	return []struct {
		head string
		text func(node *corev1.Node, now time.Time) string
	}{
		{"NAME", plain(func(n *corev1.Node) string { return n.Name })},
		{"STATUS", plain(statusText)},
		{"ROLES", plain(rolesText)},
		{"AGE", ageText},
		{"VERSION", plain(func(n *corev1.Node) string { return n.Status.NodeInfo.KubeletVersion })},
		{"INTERNAL-IP", plain(addressText)},
		{"ZONE", plain(zoneText)},
		{"LABELS", plain(labelsText)},
	}
}

// table is a picture's nodes by name, at most so many, as lines: the head, then
// one for each node.
func (p picture) table(most int) (lines []string, nodes []*corev1.Node) {
	for _, node := range p.nodes.All() {
		if len(nodes) == most {
			break
		}
		nodes = append(nodes, node)
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	all := columns()
	cells := make([]string, len(all))
	for i, column := range all {
		cells[i] = column.head
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
	for _, node := range nodes {
		for i, column := range all {
			cells[i] = clean(column.text(node, p.now))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() //nolint:errcheck // a bytes.Buffer takes everything
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), nodes
}

// cut shortens a line to a width, and says so.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	if width < 1 {
		return ""
	}
	return string([]rune(line)[:width-1]) + "…"
}
