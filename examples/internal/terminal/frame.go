// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// Style is an ANSI attribute, or "" for normal text.
type Style string

// The styles.
const (
	bold   Style = "1"
	faint  Style = "2"
	Red    Style = "31"
	green  Style = "32"
	Yellow Style = "33"
)

const (
	headLines     = 5 // title, summary, health, failure, and the header of the table
	eventLines    = 6 // a blank line and the latest events
	minWithEvents = 20
	minWithHead   = 10
	// markTime is how long the row of a changed object is marked.
	markTime = 2 * time.Second
)

// line is a line of a frame.
type line struct {
	text  string
	style Style
}

// frame returns a screen of at most height lines of at most width characters. A screen that is not
// high enough shows the first rows. Fewer than minWithEvents lines show no events, and fewer than
// minWithHead one line above the table.
func frame(title string, s State, events []event, now time.Time, width, height int) []line {
	lines, below := s.head(title+"; Ctrl-C ends it"), []line(nil)
	room := height - headLines
	if s.Keys != "" {
		below = []line{{}, {s.Keys, faint}}
	}
	room -= len(below)
	switch {
	case height < minWithHead:
		lines, below, room = []line{lines[1]}, nil, height-2
		if s.Failure != "" {
			lines[0] = line{s.Failure, Red}
		}
	case height >= minWithEvents:
		room -= eventLines
		below = append(below, recent(events)...)
	}
	lines = append(lines, s.table(changed(events, now), room)...)
	lines = append(lines, below...)
	lines = lines[:min(len(lines), max(0, height))]
	for i := range lines {
		lines[i].text = truncate(sanitize(lines[i].text), width)
	}
	return lines
}

// head returns the lines above the table.
func (s State) head(title string) []line {
	health := green
	if s.Failure != "" {
		health = Yellow
	}
	return []line{{title, bold}, {s.Summary, ""}, {s.Health, health}, {s.Failure, Red}}
}

// Text returns a state in lines without styles, with all rows.
func Text(title string, s State) string {
	var text strings.Builder
	for _, l := range append(s.head(title), s.table(nil, s.Len)...) {
		if l.text != "" {
			fmt.Fprintln(&text, sanitize(l.text))
		}
	}
	return text.String()
}

// table returns the header and the first rows, and the number of the others. Changed and
// selected rows are marked.
func (s State) table(changed map[string]bool, room int) []line {
	shown := s.Len
	if shown > room {
		shown = max(0, room-1)
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  "+tableLine(s.Columns))
	styles := []Style{bold}
	for row := range s.Rows {
		if len(styles) > shown {
			break
		}
		mark, style := "  ", row.Style
		if changed[row.Key] {
			mark = "* "
			if style == "" {
				style = green
			}
		}
		if row.Selected {
			mark = "> "
		}
		fmt.Fprintln(w, mark+tableLine(row.Cells))
		styles = append(styles, style)
	}
	w.Flush() //nolint:errcheck // writing to a bytes.Buffer does not fail
	var lines []line
	for i, text := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		lines = append(lines, line{text, styles[i]})
	}
	if hidden := s.Len - shown; hidden > 0 {
		lines = append(lines, line{fmt.Sprintf("  ... and %d more", hidden), faint})
	}
	return lines
}

// tableLine returns cells as a line for a tabwriter.
func tableLine(cells []string) string {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = sanitize(cell)
	}
	return strings.Join(texts, "\t")
}

// changed returns the keys of the objects that have just changed.
func changed(events []event, now time.Time) map[string]bool {
	keys := map[string]bool{}
	for _, e := range events {
		keys[e.key] = keys[e.key] || now.Sub(e.at) < markTime
	}
	return keys
}

// recent returns a blank line and the latest events, the newest first.
func recent(events []event) []line {
	lines := []line{{}}
	for _, e := range slices.Backward(events[max(0, len(events)+1-eventLines):]) {
		lines = append(lines, line{"  " + eventText(e.at, e.change, e.key+"  "+e.text), faint})
	}
	return lines
}

// truncate shortens a text to a width.
func truncate(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-1)]) + "…"
}
