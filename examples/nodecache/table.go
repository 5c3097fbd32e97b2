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
		{"AGE", ageText},
		{"VERSION", timeless(versionText)},
		{"INTERNAL-IP", timeless(addressText)},
		{"ZONE", timeless(zoneText)},
		{"LABELS", timeless(labelsText)},
	}
}

// table returns the first nodes by name, at most limit, and the lines of a table of them: the
// header, then one line for each node.
func (s viewState) table(limit int) (lines []string, nodes []*corev1.Node) {
	for _, node := range s.nodes.All() {
		if len(nodes) == limit {
			break
		}
		nodes = append(nodes, node)
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	all := columns()
	cells := make([]string, len(all))
	for i, column := range all {
		cells[i] = column.header
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
	for _, node := range nodes {
		for i, column := range all {
			cells[i] = sanitize(column.text(node, s.now))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() //nolint:errcheck // writing to a bytes.Buffer does not fail
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), nodes
}

// truncate shortens a line to a width and marks it with an ellipsis.
func truncate(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	if width < 1 {
		return ""
	}
	return string([]rune(line)[:width-1]) + "…"
}
