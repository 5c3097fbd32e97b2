// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// timeline is what has happened in a run, in order.
type timeline []entry

// entry is something that has happened.
type entry struct {
	at      time.Duration // since the beginning of the run
	who     string        // empty for what the scheduler does
	kind    entryKind
	what    string
	before  string // the version before a write
	version string // that a request has read or written, or empty
	mark    string // what a disturbance has done to a request
	event   []byte // the frame of a watch event
	held    bool   // the event was, by a Lag
}

// entryKind decides how the line of an entry is printed.
type entryKind int

const (
	otherEntry entryKind = iota
	requestEntry
	watchEntry   // a watch that was opened
	eventEntry   // a watch event that was received
	clusterEntry // a write of the cluster
)

// line is one entry or several as they are printed.
type line struct {
	at            time.Duration
	who, what     string
	parts         []part // of what, of a line that others are added to
	version, mark string
	endsGroup     bool // a request, or what is not by the program or the cluster
}

// part is one of the things that a line is about, such as a resource.
type part struct {
	what  string
	count int
}

// maxParts is the number of parts that are printed of a line.
const maxParts = 6

// text returns the line without its time and version.
func (l line) text() string {
	words := []string{l.what}
	for i, p := range l.parts {
		if left := len(l.parts) - i; i == maxParts-1 && left > 1 {
			words = append(words, fmt.Sprintf("%d others", left))
			break
		}
		if p.count > 1 {
			p.what += fmt.Sprintf(" (%d times)", p.count)
		}
		words = append(words, p.what)
	}
	return strings.TrimSpace(words[0] + " " + strings.Join(words[1:], ", "))
}

// String returns the line with its newline.
func (l line) String() string {
	text := l.text()
	if l.version != "" {
		text += " at version " + l.version
	}
	if l.mark != "" {
		text += " (" + l.mark + ")"
	}
	return fmt.Sprintf("%10s  %-9s  %s\n", l.at.Round(time.Millisecond), l.who, text)
}

// line returns the entry as a line.
func (e entry) line() line {
	l := line{at: e.at, who: e.who, what: e.what, version: e.version, mark: e.mark}
	switch e.kind {
	case otherEntry, requestEntry:
		l.endsGroup = true
	case watchEntry:
		l.what = "watch of"
		l.parts = []part{{what: strings.TrimPrefix(e.what, "watch of "), count: 1}}
	case clusterEntry:
		l.what, l.parts = "", []part{{what: e.what, count: 1}}
	case eventEntry:
		event, version := describeEvent(e.event)
		l.what, l.version = "receives "+event, version
		if kind, isBookmark := strings.CutPrefix(event, "BOOKMARK "); isBookmark {
			l.what, l.parts = "receives BOOKMARK", []part{{what: kind, count: 1}}
		}
	}
	return l
}

// hasMade reports whether a request was a write that has made a version.
func (e entry) hasMade(version string) bool {
	before, beforeErr := strconv.ParseUint(e.before, 10, 64)
	after, afterErr := strconv.ParseUint(e.version, 10, 64)
	n, err := strconv.ParseUint(version, 10, 64)
	return beforeErr == nil && afterErr == nil && err == nil && before < n && n <= after
}

// lines returns the entries as lines. The events that a process receives of its last write are left
// out, unless they were held, or the process has done another request since, or something was done
// to the write.
func (t timeline) lines() []line {
	var lines []line
	last := map[string]entry{} // request, by process
	for _, e := range t {
		l := e.line()
		if e.kind == requestEntry || e.kind == watchEntry {
			last[e.who] = e
		}
		if q := last[e.who]; e.kind == eventEntry && !e.held && q.mark == "" && q.hasMade(l.version) {
			continue
		}
		lines = append(lines, l)
	}
	return lines
}

// group adds lines to others of their kind if the process has only received events in between: the
// watches that it has opened, at any time, and the bookmarks and the writes of the cluster, at one.
func group(lines []line) []line {
	type key struct {
		at                 time.Duration
		who, what, version string
	}
	groups := map[key]int{} // indexes of lines
	var grouped []line
	for _, l := range lines {
		if l.endsGroup {
			clear(groups)
		}
		if len(l.parts) == 0 {
			grouped = append(grouped, l)
			continue
		}
		k := key{at: l.at, who: l.who, what: l.what, version: l.version}
		if l.what == "watch of" {
			k.at = 0
		}
		i, found := groups[k]
		if !found {
			groups[k] = len(grouped)
			grouped = append(grouped, l)
			continue
		}
		parts := grouped[i].parts
		j := slices.IndexFunc(parts, func(p part) bool { return p.what == l.parts[0].what })
		if j < 0 {
			grouped[i].parts = append(parts, l.parts...)
		} else {
			parts[j].count++
		}
	}
	return grouped
}

// firstLines and lastLines are the numbers of lines that are printed of a long timeline.
const (
	firstLines = 30
	lastLines  = 70
)

// String returns the timeline as a report prints it.
func (t timeline) String() string {
	lines := foldRepeated(group(t.lines()))
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		if left := len(lines) - firstLines - lastLines; i == firstLines && left > 0 {
			b.WriteString(line{at: lines[i].at, what: fmt.Sprintf("%d lines are left out", left)}.String())
			i += left
		}
		b.WriteString(lines[i].String())
	}
	return b.String()
}

const (
	maxRepeated = 12 // the number of lines that are looked for as a group that is repeated
	minRepeats  = 3  // the number of times in a row that a group is printed once
)

// foldRepeated replaces groups of lines that are repeated, except for numbers and versions, by one
// of them and a line that says how often they follow, at the time of the last one.
func foldRepeated(lines []line) []line {
	shapes := make([]string, len(lines))
	for i, l := range lines {
		shapes[i] = l.who + " " + varying.ReplaceAllString(l.text(), "") + l.mark
	}
	var folded []line
	for i := 0; i < len(lines); {
		size, times := repeatedAt(shapes[i:])
		folded = append(folded, lines[i:i+size]...)
		i += size * times
		if times > 1 {
			what := fmt.Sprintf("these %d lines %d times more", size, times-1)
			if size == 1 {
				what = fmt.Sprintf("this line %d times more", times-1)
			}
			folded = append(folded, line{at: lines[i-1].at, what: what})
		}
	}
	return folded
}

// varying matches the number of a write.
var varying = regexp.MustCompile(`^\d+(st|nd|rd|th) `)

// repeatedAt returns the size of the group at the beginning that covers the most lines by being
// repeated, and how often it is there. It returns 1 and 1 if there is none.
func repeatedAt(shapes []string) (size, times int) {
	size, times = 1, 1
	for n := 1; n <= min(maxRepeated, len(shapes)/minRepeats); n++ {
		end := n
		for end < len(shapes) && shapes[end] == shapes[end-n] {
			end++
		}
		if k := end / n; k >= minRepeats && k*n > size*times {
			size, times = n, k
		}
	}
	return size, times
}
