// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinformer/kinformer/examples/internal/terminal"
	"github.com/kinformer/kinformer/internal/units"
)

// table is what is shown of the replicas.
type table struct {
	statuses   []status
	selected   int // index of the replica that keys act on; -1: none
	configMaps int
	now        time.Time
}

// state returns what a view shows. The row of a replica without an incarnation begins with its
// name.
func (t table) state() terminal.State {
	s := terminal.State{
		Summary: t.summary(),
		Health:  "slots by owner  " + t.owners(),
		Columns: []string{"REPLICA", "STATE", "SLOTS", "HELD", "RECEIVED", "FOREIGN", "STAMPED", "CONFLICTS"},
		Len:     len(t.statuses),
	}
	var rows []terminal.Row
	for i, replica := range t.statuses {
		r, style := replica.report, terminal.Style("")
		if !replica.alive {
			r = report{}
		}
		if r.Error != "" {
			s.Failure = replica.name + ": " + r.Error
		}
		if replica.state != running {
			style = terminal.Yellow
		}
		rows = append(rows, terminal.Row{Key: replica.name, Selected: i == t.selected, Style: style, Cells: []string{
			cmp.Or(r.Incarnation, replica.name), strings.TrimSpace(replica.state + " " + since(replica.since, t.now)), strconv.Itoa(len(r.Transitions)),
			units.Count(r.Objects), units.Bytes(r.Received), units.Count(r.OutOfScope), units.Count(r.Stamped), units.Count(r.Conflicts),
		}})
	}
	s.Rows = slices.Values(rows)
	return s
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

// since returns the time as kubectl shows ages, or "" for a replica that was never started.
func since(begin, now time.Time) string {
	if begin.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(begin)))
}
