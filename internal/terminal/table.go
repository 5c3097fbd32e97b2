// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// maxCell is the number of characters of a cell that are shown. The table pads all rows to its
// longest cells.
const maxCell = 200

// table returns the lines of a table: the header, then one line for each row. Cells are shortened to
// a limit, and to maxCell.
func table(columns []string, rows []Row, limit int) []string {
	limit = min(limit, maxCell)
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, tableLine(columns, limit))
	for _, row := range rows {
		fmt.Fprintln(w, tableLine(row.Cells, limit))
	}
	w.Flush() //nolint:errcheck // writing to a bytes.Buffer does not fail
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// tableLine returns cells as a line for a tabwriter.
func tableLine(cells []string, limit int) string {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = truncate(Sanitize(cell), limit)
	}
	return strings.Join(texts, "\t")
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
