// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/cache"
)

// Line is one line of a frame.
type Line struct {
	Text  string
	Style Style
}

// Style is an ANSI attribute, or "" for normal text.
type Style string

// The styles.
const (
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Yellow Style = "33"
	Green  Style = "32"
)

const (
	headLines       = 4  // lines above the table: title, summary, freshness, failure
	minRows         = 3  // rows that are shown before any head line
	headerMinHeight = 3  // minimum height of a table with a header that does not show all rows
	maxRecentLines  = 6  // a blank line and the latest events
	recentMinHeight = 20 // minimum height of a frame with recent events
)

// frame returns a screen of at most height lines of at most width columns: the head lines, the
// table and, if there is room, the recent events. A small screen shows rows first: it
// omits head lines, then the table's header.
func (s State) frame(recent recentEvents, width, height int) []Line {
	var events []Line
	if height >= recentMinHeight {
		events = recent.lines(maxRecentLines)
	}
	frame := s.head(height - s.minTableHeight())
	frame = append(frame, s.rows(recent, width, height-len(frame)-len(events))...)
	frame = append(frame, events...)
	frame = frame[:max(0, min(len(frame), height))]
	for i := range frame {
		frame[i].Text = truncate(frame[i].Text, width)
	}
	return frame
}

// minTableHeight returns the height that the table needs before any head line is shown: the header,
// minRows rows and the number of further rows.
func (s State) minTableHeight() int {
	return 1 + min(s.Len, minRows+1)
}

// head returns the most important head lines, at most height lines, in display order.
func (s State) head(height int) []Line {
	omit := []int{0, 2, 1, 3} // indexes of head lines, the least important first
	if s.Status.Err == nil {
		omit = []int{3, 0, 2, 1} // the failure is empty
	}
	omit = omit[:min(max(0, headLines-height), headLines)]
	var head []Line
	for i, l := range s.allHeadLines() {
		if !slices.Contains(omit, i) {
			head = append(head, l)
		}
	}
	return head
}

// allHeadLines returns the title, the summary, the freshness and the failure.
func (s State) allHeadLines() [headLines]Line {
	freshnessStyle := Green
	if s.Status.Err != nil {
		freshnessStyle = Yellow
	}
	title := Sanitize(s.Title)
	if s.Status.Phase != cache.PhaseStopped {
		title += "; press Ctrl-C to exit"
	}
	summary := s.Summary
	if progress := s.progress(); progress != "" {
		summary = progress
	}
	return [headLines]Line{
		{title, Bold},
		{Sanitize(summary), ""},
		{s.freshness() + "; " + s.counts.String(), freshnessStyle},
		{s.failure(), Red},
	}
}

// rows returns the table in at most height lines, with cells of at most width characters. If it does not show all rows, the last line has
// the number of those that are not shown.
func (s State) rows(recent recentEvents, width, height int) []Line {
	header, shown := tableLayout(s.Len, height)
	rows := s.Rows(shown)
	texts := table(s.Columns, rows, width)
	var lines []Line
	if header {
		lines = append(lines, Line{"  " + texts[0], Bold})
	}
	for i, row := range rows {
		mark := recent.mark(row.Key, s.Now)
		lines = append(lines, Line{mark + " " + texts[1+i], row.style(mark)})
	}
	if hidden := s.Len - len(rows); hidden > 0 && len(lines) < height {
		lines = append(lines, Line{fmt.Sprintf("  ... and %d more", hidden), Faint})
	}
	return lines
}

// tableLayout returns whether a table of the given height has a header, and how many of n rows it
// shows. A table that does not show all rows has one line for the number of the others, unless it
// has only one line.
func tableLayout(n, height int) (header bool, shown int) {
	switch {
	case height > n:
		return true, n
	case height >= headerMinHeight:
		return true, height - 2
	case height == n:
		return false, n
	}
	return false, max(0, min(1, height))
}

// style returns the row's style, or highlights a row with a recent event.
func (r Row) style(mark string) Style {
	if r.Style == "" && mark != unmarked {
		return Green
	}
	return r.Style
}

// lines returns a blank line and the latest events, the newest first, in at most limit lines.
func (r recentEvents) lines(limit int) []Line {
	if len(r) == 0 {
		return nil
	}
	lines := []Line{{}}
	for _, event := range slices.Backward(r) {
		if len(lines) == limit {
			break
		}
		lines = append(lines, Line{"  " + event.at.Format(timeFormat) + "  " + event.text(), Faint})
	}
	return lines
}
