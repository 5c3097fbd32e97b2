// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// noon returns the current time of the tests.
func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// stateOf returns the state of a cache with n rows, of which the second has a style.
func stateOf(n int) State {
	var rows []Row
	for i := range n {
		rows = append(rows, Row{Key: fmt.Sprint("web-", i), Cells: []string{fmt.Sprint("web-", i), "Ready"}})
	}
	if n > 1 {
		rows[1].Cells[1], rows[1].Style = "\x1b[2JNot\tReady", Red
	}
	return State{
		Summary: fmt.Sprint(n, " nodes"), Health: "Watching at resourceVersion 7, fresh 0.1s ago",
		Columns: []string{"NAME", "STATUS"}, Rows: slices.Values(rows), Len: n,
	}
}

// frameText returns the lines of a frame, each with its style.
func frameText(frame []line) string {
	var b strings.Builder
	for _, l := range frame {
		fmt.Fprintf(&b, "%2s|%s\n", l.style, l.text)
	}
	return b.String()
}

func TestFrame(t *testing.T) {
	events := []event{
		{noon().Add(-time.Minute), "updated", "web-3", "STATUS Ready -> NotReady"},
		{noon().Add(-time.Second), "updated", "web-1", "STATUS Ready -> NotReady"},
		{noon(), "deleted", "web-9", ""},
		{noon(), "added", "web-2", "Ready"},
	}
	failing := stateOf(20)
	failing.Failure = "since 11:59:00: watch: connection refused"
	const want = `
 1|nodes of http://server; Ctrl-C ends it
  |20 nodes
33|Watching at resourceVersion 7, fresh 0…
31|since 11:59:00: watch: connection refu…
 1|  NAME   STATUS
  |  web-0  Ready
31|* web-1   [2JNot Ready
32|* web-2  Ready
  |  web-3  Ready
  |  web-4  Ready
  |  web-5  Ready
  |  web-6  Ready
  |  web-7  Ready
 2|  ... and 12 more
  |
 2|  12:00:00.000  added     web-2  Ready
 2|  12:00:00.000  deleted   web-9
 2|  11:59:59.000  updated   web-1  STATU…
 2|  11:59:00.000  updated   web-3  STATU…
`
	if diff := cmp.Diff(want[1:], frameText(frame("nodes of http://server", failing, events, noon(), 39, 20))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A low screen shows one line above the table, and no keys.
func TestLowFrameShowsRows(t *testing.T) {
	s := stateOf(3)
	s.Keys = "q quit"
	rows := slices.Collect(s.Rows)
	rows[2].Selected = true
	s.Rows = slices.Values(rows)
	want := "  |3 nodes\n 1|  NAME   STATUS\n  |  web-0  Ready\n31|  web-1   [2JN…\n  |> web-2  Ready\n"
	if got := frameText(frame("nodes", s, nil, noon(), 15, 5)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := frameText(frame("nodes", s, nil, noon(), 15, 10)); !strings.HasSuffix(got, "\n  |> web-2  Ready\n  |\n 2|q quit\n") {
		t.Errorf("got\n%s", got)
	}
	s.Failure = "refused"
	if got := frameText(frame("nodes", s, nil, noon(), 15, 5)); !strings.HasPrefix(got, "31|refused\n 1|  NAME") {
		t.Errorf("got\n%s", got)
	}
}

func TestFramesFitTerminal(t *testing.T) {
	for _, n := range []int{0, 3, 16} {
		withKeys := stateOf(n)
		withKeys.Keys = "q quit"
		for height := range 40 {
			for width := 1; width < 100; width += 7 {
				lines := frame("title", withKeys, []event{{noon(), "added", "web-1", "Ready"}}, noon(), width, height)
				if len(lines) > height {
					t.Fatalf("got %d lines, want at most %d", len(lines), height)
				}
				if height >= minWithHead && width > 10 && !strings.Contains(frameText(lines), "q quit") {
					t.Fatalf("no keys in %d lines", height)
				}
				for _, l := range lines {
					if utf8.RuneCountInString(l.text) > width || strings.ContainsAny(l.text, "\n\t\x1b") {
						t.Fatalf("got %q in %d columns", l.text, width)
					}
				}
			}
			shown := strings.Count(frameText(frame("title", stateOf(n), nil, noon(), 100, height)), "eady")
			if room := height - headLines - eventLines; room >= n && shown != n {
				t.Errorf("got %d of %d rows in %d lines", shown, n, height)
			}
		}
	}
}
