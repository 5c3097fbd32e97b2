// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kinformer/kinformer/internal/units"
)

// table is what is shown of the replicas.
type table struct {
	statuses   []status
	selected   int // index of the replica that keys act on; -1: none
	configMaps int
	now        time.Time
}

// text returns the table in several lines.
func (t table) text() string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  REPLICA\tSTATE\tINCARNATION\tSLOTS\tHELD\tRECEIVED\tPASSED OVER\tSTAMPED\tCONFLICTS")
	for i, s := range t.statuses {
		mark := " "
		if i == t.selected {
			mark = ">"
		}
		r := s.report
		if !s.alive {
			r = report{}
		}
		fmt.Fprintf(w, "%s %s\t%s %s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", mark, s.name, s.state, since(s.since, t.now), r.Incarnation, len(r.Transitions),
			units.Count(r.Objects), units.Bytes(r.Received), units.Count(r.Foreign), units.Count(r.Stamped), units.Count(r.Conflicts))
	}
	w.Flush() //nolint:errcheck // writing to a bytes.Buffer does not fail
	fmt.Fprintf(&text, "\n  slots by owner  %s\n  %s\n", t.owners(), t.summary())
	for _, s := range t.statuses {
		if s.alive && s.report.Error != "" {
			fmt.Fprintf(&text, "  %s: %s\n", s.name, s.report.Error)
		}
	}
	return text.String()
}

// owners returns the owner's name for each slot, and a dot for a slot without one. Of two replicas
// that report one slot, the one with the higher transition is the owner: the other one, which is
// paused or has reported a moment ago, has lost it.
func (t table) owners() string {
	owners := []byte(strings.Repeat(".", slots))
	highest := make([]int32, slots)
	for _, s := range t.statuses {
		if !s.alive {
			continue
		}
		for slot, transition := range s.report.Transitions {
			if transition > highest[slot] {
				owners[slot], highest[slot] = s.name[0], transition
			}
		}
	}
	return string(owners)
}

// summary returns what the running replicas hold in total.
func (t table) summary() string {
	held := 0
	for _, s := range t.statuses {
		if s.state == running {
			held += s.report.Objects
		}
	}
	owned := slots - strings.Count(t.owners(), ".")
	return fmt.Sprintf("%d of %d slots have an owner, running replicas hold %s of %s ConfigMaps", owned, slots, units.Count(held), units.Count(t.configMaps))
}

// since returns the time in whole seconds, or "" for a replica that was never started.
func since(begin, now time.Time) string {
	if begin.IsZero() {
		return ""
	}
	return max(0, now.Sub(begin)).Truncate(time.Second).String()
}
