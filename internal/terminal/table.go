package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table returns the lines of a table: the header, then one line for each row.
func table(columns []string, rows []Row) []string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row.Cells))
		for i, cell := range row.Cells {
			cells[i] = Sanitize(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() //nolint:errcheck // writing to a bytes.Buffer does not fail
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
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
