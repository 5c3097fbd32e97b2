package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// line is one line of a frame, and how it is to look.
type line struct {
	text  string
	style style
}

// style is an ANSI attribute; empty is ordinary text.
type style string

const (
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	yellow style = "33"
	green  style = "32"
)

// layout is the room there is, and how the lines of a frame share it.
const (
	headLines   = 4  // what, how many, how fresh, trouble
	recentLines = 6  // at most: a blank line and the latest events
	roomForMore = 20 // lines, for which there must be these
)

// frame is a picture with what has just happened, in at most height lines of at
// most width columns.
func (p picture) frame(news news, width, height int) []line {
	frame := p.head()
	var recent []line
	if height >= roomForMore {
		recent = news.lines(recentLines)
	}
	frame = append(frame, p.rows(news, height-headLines-len(recent))...)
	frame = append(frame, recent...)
	frame = frame[:max(0, min(len(frame), height))]
	for i := range frame {
		frame[i].text = cut(frame[i].text, width)
	}
	return frame
}

func (p picture) head() []line {
	style := green
	if p.status.Err != nil {
		style = yellow
	}
	title := "node cache of " + clean(p.server)
	if p.status.Phase != cache.PhaseStopped {
		title += "; Ctrl-C ends it"
	}
	return []line{
		{title, bold},
		{p.population(), ""},
		{p.freshness() + "; " + p.counts.String(), style},
		{p.trouble(), red},
	}
}

// rows is the table in so many lines; if they are too few, the last says how many
// nodes are not shown.
func (p picture) rows(news news, room int) []line {
	shown := max(0, room-1)
	if p.nodes.Len() > shown {
		shown = max(0, room-2)
	}
	texts, nodes := p.table(shown)
	rows := []line{{"  " + texts[0], bold}}
	for i, node := range nodes {
		mark := news.mark(node.Name, p.now)
		rows = append(rows, line{mark + " " + texts[1+i], nodeStyle(node, mark)})
	}
	if rest := p.nodes.Len() - len(nodes); rest > 0 {
		rows = append(rows, line{fmt.Sprintf("  ... and %d more", rest), faint})
	}
	return rows
}

// nodeStyle draws the eye to what is not well, then to what is new.
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

// unmarked stands before a node to which nothing has just happened.
const unmarked = " "

// lines are the latest events, the newest first, after a blank line.
func (n news) lines(most int) []line {
	if len(n.events) == 0 {
		return nil
	}
	lines := []line{{}}
	for _, event := range slices.Backward(n.events) {
		if len(lines) == most {
			break
		}
		lines = append(lines, line{"  " + event.at.Format(timeFormat) + "  " + event.text, faint})
	}
	return lines
}

// symbol is what stands before a node for a moment.
func symbol(eventType cache.EventType) string {
	switch eventType {
	case cache.EventAdd:
		return "+"
	case cache.EventUpdate:
		return "~"
	default: // a node that is gone has no line to mark
		return unmarked
	}
}
