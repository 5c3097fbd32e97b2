// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSpread is the largest spread of a side whose ratio is not marked as unstable.
const maxSpread = 1.5

// Summary returns a Markdown table of the metrics without Detail, grouped by row, and a list of all
// missed goals, grouped by reason.
func Summary(results []Result) string {
	lines, missed := groups[[]string]{}, groups[string]{}
	for _, r := range results {
		for metric, m := range r.Metrics {
			row, goal := r.RowName(metric), m.Goal.text
			if r.Missed(metric) {
				reason := cmp.Or(m.Goal.reason, "The reason is not known.")
				figure, _, _ := strings.Cut(r.Figure(metric), " of ")
				missed.add(reason, fmt.Sprintf("*%s*, %s %s", row, r.Measurement(metric), figure))
				goal = "**missed**: " + goal
			}
			if !m.Detail {
				rounds := strconv.Itoa(len(r.Samples[metric][0]))
				lines.add(row, []string{row, r.Measurement(metric), r.Figure(metric), r.Spreads(metric), rounds, goal})
			}
		}
	}
	table := [][]string{{"row", "measurement", "ratio", "spread", "rounds", "goal"}}
	for _, group := range lines {
		table = append(table, group.values...)
	}
	text := []string{Table(table)}
	for _, group := range missed {
		text = append(text, "- "+group.key+"\n  "+strings.Join(group.values, "; ")+"\n")
	}
	if len(missed) > 0 {
		text[0] += "\nMissed goals:\n\n"
	}
	return strings.Join(text, "")
}

// groups are values in the order of the first value of each key.
type groups[T any] []struct {
	key    string
	values []T
}

func (g *groups[T]) add(key string, value T) {
	for i := range *g {
		if (*g)[i].key == key {
			(*g)[i].values = append((*g)[i].values, value)
			return
		}
	}
	*g = append(*g, struct {
		key    string
		values []T
	}{key, []T{value}})
}

// Figure returns a metric's ratio, or our figure if there is no reference or the goal is absolute.
func (r Result) Figure(metric int) string {
	reference, m := r.Reference(metric), r.Metrics[metric]
	switch side := r.Sides[reference]; {
	case reference == 0 || m.Goal.absolute:
		return strings.TrimSpace(number(r.Best(metric, 0)) + " " + m.Unit)
	case strings.HasPrefix(side, "client-go"):
		return number(r.Ratio(metric)) + "x"
	default:
		return number(r.Ratio(metric)) + "x of " + side
	}
}

// Spreads returns the spread of our side and that of the reference, marked as unstable if one is
// larger than maxSpread. A single round has none.
func (r Result) Spreads(metric int) string {
	if len(r.Samples[metric][0]) == 1 {
		return "–"
	}
	text := fmt.Sprintf("%.2fx", r.Spread(metric, 0))
	if reference := r.Reference(metric); reference > 0 {
		text += fmt.Sprintf(", %.2fx", r.Spread(metric, reference))
	}
	if r.Unstable(metric) {
		text += ", **unstable**"
	}
	return text
}

// Unstable reports whether the spread of our side or of the reference is larger than maxSpread.
func (r Result) Unstable(metric int) bool {
	return max(r.Spread(metric, 0), r.Spread(metric, r.Reference(metric))) > maxSpread
}

// number formats a figure with three significant digits.
func number(f float64) string {
	if math.Abs(f) >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// Table returns a Markdown table of rows, the first of which is its head. Its cells are padded, so
// that it can be read without rendering it.
func Table(rows [][]string) string {
	widths, rule := make([]int, len(rows[0])), make([]string, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
			rule[i] = strings.Repeat("-", widths[i])
		}
	}
	var b strings.Builder
	for _, row := range slices.Insert(slices.Clone(rows), 1, rule) {
		for i, cell := range row {
			fmt.Fprintf(&b, "| %-*s ", widths[i], cell)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// ReplaceSection replaces the text between two marks of a Markdown file:
//
//	<!-- bench: NAME -->
//	...
//	<!-- bench: end of NAME -->
//
// If a mark is missing, it returns an error and does not change the file.
func ReplaceSection(path, name, text string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- bench: "+name+" -->\n", "<!-- bench: end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("write table to %s: no lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+end+after), 0o600) // an existing file keeps its mode
}
