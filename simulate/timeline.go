// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// timeline is what has happened in a run, in order.
type timeline []entry

// entry is a line of the timeline.
type entry struct {
	at    time.Duration // since the beginning of the run
	who   string        // empty for what the scheduler does
	what  string
	event []byte // the frame of a watch event, if it is one
}

// line is an entry as it is printed.
type line struct {
	at        time.Duration
	who, what string
}

// String returns the text of the line.
func (l line) String() string {
	return fmt.Sprintf("%10s  %-9s  %s\n", l.at.Round(time.Millisecond), l.who, l.what)
}

// line returns the entry as a line.
func (e entry) line() line {
	what := e.what
	if e.event != nil {
		what += " " + describeEvent(e.event)
	}
	return line{at: e.at, who: e.who, what: what}
}

// firstLines and lastLines are the numbers of lines that are printed of a long timeline.
const (
	firstLines = 30
	lastLines  = 70
)

// String returns the timeline as a report prints it.
func (t timeline) String() string {
	lines := make([]line, len(t))
	for i, e := range t {
		lines[i] = e.line()
	}
	lines = foldRepeated(lines)
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
		shapes[i] = l.who + " " + varying.ReplaceAllString(l.what, "")
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

// varying matches what differs between two writes, reads or events that do the same.
var varying = regexp.MustCompile(`^\d+(st|nd|rd|th) | at version \d+$`)

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
