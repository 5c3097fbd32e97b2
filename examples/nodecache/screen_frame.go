package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// line is one line of a frame.
type line struct {
	text  string
	style style
}

// style is an ANSI attribute, or "" for normal text.
type style string

const (
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	yellow style = "33"
	green  style = "32"
)

const (
	headLines       = 4  // lines above the table: title, node summary, freshness, failure
	minNodeRows     = 3  // nodes that are shown before any head line
	headerMinHeight = 3  // minimum height of a table with a header that does not show all nodes
	maxRecentLines  = 6  // a blank line and the latest events
	recentMinHeight = 20 // minimum height of a frame with recent events
)

// frame returns a screen of at most height lines of at most width columns: the head lines, the
// table of nodes and, if there is room, the recent events. A small screen shows nodes first: it
// omits head lines, then the table's header.
func (s viewState) frame(recent recentEvents, width, height int) []line {
	var events []line
	if height >= recentMinHeight {
		events = recent.lines(maxRecentLines)
	}
	frame := s.head(height - s.minTableHeight())
	frame = append(frame, s.rows(recent, height-len(frame)-len(events))...)
	frame = append(frame, events...)
	frame = frame[:max(0, min(len(frame), height))]
	for i := range frame {
		frame[i].text = truncate(frame[i].text, width)
	}
	return frame
}

// minTableHeight returns the height that the table needs before any head line is shown: the header,
// minNodeRows nodes and the number of further nodes.
func (s viewState) minTableHeight() int {
	return 1 + min(s.nodes.Len(), minNodeRows+1)
}

// head returns the most important head lines, at most height lines, in display order.
func (s viewState) head(height int) []line {
	omit := []int{0, 2, 1, 3} // indexes of head lines, the least important first
	if s.status.Err == nil {
		omit = []int{3, 0, 2, 1} // the failure is empty
	}
	omit = omit[:min(max(0, headLines-height), headLines)]
	var head []line
	for i, l := range s.allHeadLines() {
		if !slices.Contains(omit, i) {
			head = append(head, l)
		}
	}
	return head
}

// allHeadLines returns the title, the node summary, the freshness and the failure.
func (s viewState) allHeadLines() [headLines]line {
	freshnessStyle := green
	if s.status.Err != nil {
		freshnessStyle = yellow
	}
	title := "node cache of " + sanitize(s.server)
	if s.status.Phase != cache.PhaseStopped {
		title += "; press Ctrl-C to exit"
	}
	return [headLines]line{
		{title, bold},
		{s.nodeSummary(), ""},
		{s.freshness() + "; " + s.counts.String(), freshnessStyle},
		{s.failure(), red},
	}
}

// rows returns the table in at most height lines. If it does not show all nodes, the last line has
// the number of nodes that are not shown.
func (s viewState) rows(recent recentEvents, height int) []line {
	header, shown := tableLayout(s.nodes.Len(), height)
	texts, nodes := s.table(shown)
	var rows []line
	if header {
		rows = append(rows, line{"  " + texts[0], bold})
	}
	for i, node := range nodes {
		mark := recent.mark(node.Name, s.now)
		rows = append(rows, line{mark + " " + texts[1+i], nodeStyle(node, mark)})
	}
	if hidden := s.nodes.Len() - len(nodes); hidden > 0 && len(rows) < height {
		rows = append(rows, line{fmt.Sprintf("  ... and %d more", hidden), faint})
	}
	return rows
}

// tableLayout returns whether a table of the given height has a header, and how many of n nodes it
// shows. A table that does not show all nodes has one line for the number of the others, unless it
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

// nodeStyle highlights nodes that are not ready, then cordoned nodes, then nodes with a recent
// event.
func nodeStyle(node *corev1.Node, mark string) style {
	switch {
	case readiness(node) != corev1.ConditionTrue:
		return red
	case node.Spec.Unschedulable:
		return yellow
	case mark != unmarked:
		return green
	}
	return ""
}

// lines returns a blank line and the latest events, the newest first, in at most limit lines.
func (r recentEvents) lines(limit int) []line {
	if len(r.events) == 0 {
		return nil
	}
	lines := []line{{}}
	for _, event := range slices.Backward(r.events) {
		if len(lines) == limit {
			break
		}
		lines = append(lines, line{"  " + event.at.Format(timeFormat) + "  " + event.text, faint})
	}
	return lines
}
