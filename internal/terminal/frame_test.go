// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kinformer/kinformer/cache"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got (update it with go test -update)\n%s", file, diff)
	}
}

// noon returns the current time of the tests.
func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// stateOf returns the state of a cache at noon.
func stateOf(summary string, rows ...Row) State {
	return State{
		Title:           "node cache of https://cluster.example:6443",
		Summary:         summary,
		Columns:         []string{"NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "ZONE", "LABELS"},
		Len:             len(rows),
		Rows:            func(limit int) []Row { return rows[:min(limit, len(rows))] },
		ResourceVersion: "4711",
		Status:          cache.Status{Phase: cache.PhaseWatching, FreshAt: noon().Add(-1400 * time.Millisecond)},
		Now:             noon(),
		counts:          EventCounts{Added: 12, Updated: 34, Deleted: 5},
	}
}

// nodeRow returns a row of a node.
func nodeRow(name, status, roles, age, version string, style Style) Row {
	return Row{Key: name, Cells: []string{name, status, roles, age, version, "10.0.0.7", "eu-1a", "pool=web"}, Style: style}
}

// mixedNodes returns rows of nodes in all conditions.
func mixedNodes() []Row {
	rows := []Row{
		nodeRow("control-plane-000", "Ready", "control-plane", "400d", "v1.36.1", ""),
		nodeRow("strange", "Unknown", "<none>", "0s", "v1\x1b[31m\tred\n", Red),
	}
	for i := range 12 {
		age := Age(noon().Add(time.Duration(-i)*time.Minute), noon())
		rows = append(rows, nodeRow(fmt.Sprintf("web-%03d", i), "Ready", "<none>", age, "v1.36.1", ""))
	}
	return append(rows,
		nodeRow("web-cordoned", "Ready,SchedulingDisabled", "<none>", "26h", "v1.36.1", Yellow),
		nodeRow("web-down", "NotReady,SchedulingDisabled", "<none>", "90m", "v1.36.1", Red))
}

const mixedSummary = "16 nodes: 13 Ready, 1 NotReady,SchedulingDisabled, 1 Ready,SchedulingDisabled, 1 Unknown"

// eventsAtNoon returns three events, the first of which is too old for a mark.
func eventsAtNoon() recentEvents {
	return recentEvents{
		{noon().Add(-5 * time.Second), Event{Type: cache.EventAdd, Key: "web-000", Text: "Ready"}},
		{noon().Add(-time.Second), Event{Type: cache.EventUpdate, Key: "web-001", Text: "Ready -> NotReady"}},
		{noon().Add(-time.Second / 2), Event{Type: cache.EventAdd, Key: "web-cordoned", Text: "Ready,SchedulingDisabled"}},
	}
}

// frameText returns the lines of a frame, each with its style.
func frameText(frame []Line) string {
	var b strings.Builder
	for _, l := range frame {
		fmt.Fprintf(&b, "%2s|%s\n", l.Style, l.Text)
	}
	return b.String()
}

// failing returns a state after three minutes of failures.
func failing(s State) State {
	s.Status.Phase, s.Status.Attempts = cache.PhaseRetrying, 7
	s.Status.Err = &url.Error{Op: "Get", URL: "https://cluster.example:6443/api", Err: errors.New("\x1b[31mno\nroute")}
	s.Status.ErrSince = noon().Add(-3 * time.Minute)
	return s
}

func TestFrames(t *testing.T) {
	watching := stateOf(mixedSummary, mixedNodes()...)
	empty := stateOf("0 nodes")
	empty.Title, empty.ResourceVersion, empty.counts = "node cache of http://127.0.0.1:1", "", EventCounts{}
	empty.Status = cache.Status{Phase: cache.PhaseListing}
	stopped := stateOf("1 node: 1 Ready", mixedNodes()[:1]...)
	stopped.Status.Phase = cache.PhaseStopped
	for name, tc := range map[string]struct {
		State
		recentEvents
		width, height int
	}{
		"large":         {watching, eventsAtNoon(), 120, 40},
		"usual":         {watching, eventsAtNoon(), 80, 24},
		"low":           {watching, eventsAtNoon(), 100, 10},
		"small":         {watching, eventsAtNoon(), 30, 6},
		"small_failing": {failing(watching), eventsAtNoon(), 30, 6},
		"failing":       {failing(watching), nil, 80, 24},
		"empty":         {empty, nil, 80, 24},
		"stopped":       {stopped, nil, 80, 24},
	} {
		golden(t, name, frameText(tc.frame(tc.recentEvents, tc.width, tc.height)))
	}
}

// A frame fits any terminal and shows all nodes if there is room.
func TestFramesFitTerminal(t *testing.T) {
	for _, nodes := range [][]Row{nil, mixedNodes()[:3], mixedNodes()} {
		s := stateOf("nodes", nodes...)
		for height := range 50 {
			for width := 0; width < 140; width += 7 {
				frame := s.frame(eventsAtNoon(), width, height)
				if len(frame) > height {
					t.Fatalf("got %d lines, want at most %d", len(frame), height)
				}
				for _, l := range frame {
					if n := utf8.RuneCountInString(l.Text); n > width || strings.ContainsAny(l.Text, "\n\t\x1b") {
						t.Fatalf("got %d columns, want at most %d: %q", n, width, l.Text)
					}
				}
			}
			shown := strings.Count(frameText(s.frame(nil, 140, height)), "10.0.0.7")
			if need := headLines + 1 + len(nodes); height >= need+maxRecentLines && shown != len(nodes) {
				t.Errorf("got %d of %d nodes in %d lines", shown, len(nodes), height)
			}
		}
	}
}

// A small terminal shows nodes rather than head lines, and says how many nodes it does not show.
func TestSmallTerminalShowsNodes(t *testing.T) {
	for _, s := range []State{stateOf("nodes", mixedNodes()...), failing(stateOf("nodes", mixedNodes()...))} {
		for height := 1; height < 12; height++ {
			text := frameText(s.frame(eventsAtNoon(), 30, height))
			shown := 0
			for _, node := range mixedNodes() {
				shown += strings.Count(text, "  "+node.Key+" ") + strings.Count(text, "~ "+node.Key+" ")
			}
			if want := min(minRows, max(1, height-2)); shown < want {
				t.Errorf("got %d nodes in %d lines, want at least %d:\n%s", shown, height, want, text)
			}
			if hidden := fmt.Sprintf("... and %d more", len(mixedNodes())-shown); height > 1 && !strings.Contains(text, hidden) {
				t.Errorf("frame of %d lines does not contain %q:\n%s", height, hidden, text)
			}
		}
	}
}
