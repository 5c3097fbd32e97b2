package harness

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// besides is the column of whoever is neither ours nor the one that goals are about.
const besides = "besides"

// WriteTable writes results as one Markdown table, a row a metric. The columns are
// ours and theirs of the first result; a side that is called otherwise says so in its
// cell, and further sides share a column. Figures are medians with the least and the
// greatest; ratios are ours divided by theirs.
func WriteTable(w io.Writer, results []Result) error {
	if len(results) == 0 {
		return nil
	}
	ours, theirs := columns(results)
	rows := [][]string{{"", "what", "unit", ours, theirs, "ratio", "goal", "", besides}}
	for _, r := range results {
		for metric := range r.Metrics {
			rows = append(rows, rowOf(r, metric, ours, theirs))
		}
	}
	return writeRows(w, rows)
}

// columns returns the names that most of the results' first and second sides have.
func columns(results []Result) (ours, theirs string) {
	var firsts, seconds []string
	for _, r := range results {
		firsts = append(firsts, r.Sides[0])
		seconds = append(seconds, r.Sides[1:min(2, len(r.Sides))]...)
	}
	return most(firsts), most(seconds)
}

// most returns the most frequent of some names, the first of them where several are.
func most(names []string) (found string) {
	counts := make(map[string]int)
	for _, name := range names {
		counts[name]++
	}
	for _, name := range names {
		if counts[name] > counts[found] {
			found = name
		}
	}
	return found
}

func rowOf(r Result, metric int, ours, theirs string) []string {
	m := r.Metrics[metric]
	what := r.What
	if m.What != "" {
		what += ": " + m.What
	}
	ratio := "–"
	if f := r.Ratio(metric); !math.IsNaN(f) {
		ratio = number(f) + "x"
	}
	second, others := "–", []string(nil)
	for side := 1; side < len(r.Sides); side++ {
		switch figures := r.Samples[metric][side]; {
		case math.IsNaN(Median(figures)):
		case second == "–":
			second = named(r.Sides[side], theirs, figures)
		default:
			others = append(others, named(r.Sides[side], "", figures))
		}
	}
	return []string{
		r.RowName(metric), what, m.Unit, named(r.Sides[0], ours, r.Samples[metric][0]), second,
		ratio, m.Goal.String(), m.Goal.Verdict(r.Median(metric, 0), r.Theirs(metric)), strings.Join(others, "; "),
	}
}

// named writes figures, and whose they are unless the column says it.
func named(side, column string, figures []float64) string {
	if side == column {
		return spread(figures)
	}
	return side + ": " + spread(figures)
}

// writeRows pads the cells, so that the table can be read as it is, too.
func writeRows(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	widths[len(widths)-1] = 3 // nothing stands behind the last one
	var b strings.Builder
	for i, row := range rows {
		writeRow(&b, row, widths, " ")
		if i == 0 {
			writeRow(&b, make([]string, len(row)), widths, "-")
		}
	}
	b.WriteByte('\n')
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

func writeRow(b *strings.Builder, cells []string, widths []int, filler string) {
	for i, cell := range cells {
		b.WriteString("| ")
		b.WriteString(cell)
		b.WriteString(strings.Repeat(filler, max(0, widths[i]-utf8.RuneCountInString(cell))))
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
}
