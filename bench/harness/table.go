package harness

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTable writes results as Markdown, a row a metric, a new table where the
// sides change. Figures are medians with the least and the greatest; ratios are
// ours divided by theirs.
func WriteTable(w io.Writer, results []Result) error {
	for len(results) > 0 {
		n := 1
		for n < len(results) && slices.Equal(results[n].Sides, results[0].Sides) {
			n++
		}
		if err := writeRows(w, rowsOf(results[:n])); err != nil {
			return err
		}
		results = results[n:]
	}
	return nil
}

// rowsOf returns the cells of one table, its head first.
func rowsOf(results []Result) [][]string {
	head := append([]string{"", "what", "unit"}, results[0].Sides...)
	rows := [][]string{append(head, "ratio", "goal", "")}
	for _, r := range results {
		for metric := range r.Metrics {
			rows = append(rows, rowOf(r, metric))
		}
	}
	return rows
}

func rowOf(r Result, metric int) []string {
	m := r.Metrics[metric]
	what := r.What
	if m.What != "" {
		what += ": " + m.What
	}
	row := []string{r.Name, what, m.Unit}
	for _, figures := range r.Samples[metric] {
		row = append(row, spread(figures))
	}
	ratio := "–"
	if f := r.Ratio(metric); !math.IsNaN(f) {
		ratio = number(f) + "x"
	}
	return append(row, ratio, m.Goal.String(), m.Goal.Verdict(r.Median(metric, 0), r.Theirs(metric)))
}

// writeRows pads the cells, so that the table can be read as it is, too.
func writeRows(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
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
		b.WriteString(strings.Repeat(filler, widths[i]-utf8.RuneCountInString(cell)))
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
}
