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

// lineWidth is the width of what is printed, except for lines with a long name or an error.
const lineWidth = 80

// columns aligns the cells of a table: those of the columns whose header begins with ">" to the
// right, the others to the left. A row of one cell is a heading.
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
		if len(cells) > 1 {
			c.width[i] = max(c.width[i], utf8.RuneCountInString(cells[i]))
		}
	}
	c.rows = append(c.rows, cells)
}

// print prints the rows. A first cell that is too long for lineWidth is in a line of its own.
func (c *columns) print(out io.Writer) {
	room := lineWidth
	for _, width := range c.width[1:] {
		room -= width + 2
	}
	c.width[0] = min(c.width[0], room)
	for _, row := range c.rows {
		if len(row) == 1 {
			printWrapped(out, "    ", row[0])
			continue
		}
		if utf8.RuneCountInString(row[0]) > room {
			fmt.Fprintln(out, row[0])
			row[0] = ""
		}
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", c.width[i]-utf8.RuneCountInString(cell))
			if c.right[i] {
				line.WriteString(padding + cell + "  ")
			} else {
				line.WriteString(cell + padding + "  ")
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}

// printWrapped prints a text in lines of at most lineWidth. All but the first begin with indent.
func printWrapped(out io.Writer, indent, text string) {
	width := 0
	for i, word := range strings.Fields(command.Sanitize(text)) {
		length := utf8.RuneCountInString(word)
		switch {
		case i > 0 && width+1+length > lineWidth:
			fmt.Fprint(out, "\n", indent)
			width = len(indent)
		case i > 0:
			fmt.Fprint(out, " ")
			width++
		}
		fmt.Fprint(out, word)
		width += length
	}
	fmt.Fprintln(out)
}
