// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal shows a cache live: as a table on a terminal, and as lines in a pipe or a file.
package terminal

import (
	"io"
	"iter"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// State is what a view shows of a cache at one moment.
type State struct {
	Summary string // of the objects
	Health  string // how recent the cache is
	Failure string // why it may not be up to date, or ""
	Columns []string
	Rows    iter.Seq[Row] // one for each object
	Len     int           // the number of rows
	Keys    string        // what keys do, or ""
}

// Row is an object in the table.
type Row struct {
	Key      string // as in View.Record
	Cells    []string
	Style    Style
	Selected bool
}

// View shows the changes and the states of a cache.
type View interface {
	// Record shows a change of an object, which a handler has received. It is safe for concurrent
	// use.
	Record(change, key, text string)
	// Run shows the state, again and again, until done is closed.
	Run(done <-chan struct{}, state func() State)
	// Finish shows the last state.
	Finish(last State)
}

// NewView returns a view that draws a table if out is a terminal, and otherwise writes lines.
func NewView(out io.Writer, title string) View {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &screen{out: out, title: title, size: func() (int, int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width == 0 {
				return 80, 24
			}
			return width, height
		}}
	}
	return newLines(out, title)
}

// sanitize makes text from other sources safe to print on one line of a terminal.
func sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
