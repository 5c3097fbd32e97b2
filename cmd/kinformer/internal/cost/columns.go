// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// columns aligns the cells of a table: those of the columns whose header begins with ">" to the
// right, the others to the left.
type columns struct {
	rows  [][]string
	width []int
	right []bool
}

func newColumns(headers ...string) *columns {
	c := &columns{width: make([]int, len(headers)), right: make([]bool, len(headers))}
	for i := range headers {
		headers[i], c.right[i] = strings.CutPrefix(headers[i], ">")
	}
	c.add(headers...)
	return c
}

// add adds a row.
func (c *columns) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = command.Sanitize(cell)
		cell = cells[i]
		c.width[i] = max(c.width[i], utf8.RuneCountInString(cell))
	}
	c.rows = append(c.rows, cells)
}

// print prints the rows.
func (c *columns) print(out io.Writer) {
	for _, row := range c.rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", c.width[i]-utf8.RuneCountInString(cell))
			if c.right[i] {
				line.WriteString(padding + cell + "   ")
			} else {
				line.WriteString(cell + padding + "   ")
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}
