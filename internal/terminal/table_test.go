// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextOfTheServerIsSanitized(t *testing.T) {
	s := stateOf("1 node", Row{Key: "a", Cells: []string{"a"}})
	s.Columns, s.ResourceVersion = []string{"NA\x1b[31mME\n\t"}, "7\x1b[2J\n8"
	texts := append(table(s.Columns, s.Rows(1), 80), s.freshness(), frameText(s.frame(nil, 80, 24)), summaryLine(s))
	for _, text := range texts {
		if strings.Contains(text, "\x1b") || strings.Contains(text, "7[") {
			t.Errorf("got %q", text)
		}
	}
	if got := texts[0]; got != "NA [31mME" {
		t.Errorf("got header %q", got)
	}
}

// A long cell does not make the other rows long.
func TestLongCellsAreShortened(t *testing.T) {
	rows := []Row{{Cells: []string{strings.Repeat("ü", 100_000), "x"}}, {Cells: []string{"a", "y"}}}
	for limit, want := range map[int]int{80: 80, 500: maxCell} {
		lines := table([]string{"NAME", "LABEL"}, rows, limit)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > want+len("   LABEL") {
				t.Errorf("got a line of %d characters, want a cell of at most %d", n, want)
			}
		}
		if !strings.HasSuffix(lines[1], "…   x") {
			t.Errorf("got the row %q", lines[1])
		}
	}
	s := stateOf("2 nodes", rows...)
	s.Columns = []string{"NAME"}
	if n := strings.Count(frameText(s.frame(nil, 30, 24)), "ü"); n == 0 || n > 30 {
		t.Errorf("got %d characters of a long cell in a terminal of 30 columns", n)
	}
}
