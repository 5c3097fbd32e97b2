// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal"
	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// countLines counts the event lines of each type.
func countLines(text string) terminal.EventCounts {
	return terminal.EventCounts{
		Added:   strings.Count(text, "  added    "),
		Updated: strings.Count(text, "  updated  "),
		Deleted: strings.Count(text, "  deleted  "),
	}
}

// The printed and counted events are those of the simulation, received over HTTP through client-go.
func TestLinesMatchSimulation(t *testing.T) {
	server := startServer(t)
	s := newSimulation(server, 20, 5)
	if err := s.populate(); err != nil {
		t.Fatal(err)
	}
	client, closeClient, err := newClient(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeClient)
	out := terminaltest.NewOutput()
	v := terminal.NewView(out, false)
	nodes := newNodeCache(&source{client: client}, viewHandler{v})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- terminal.Show(ctx, v, nodes.shown(), 0, nil) }()
	out.WaitFor(t, func(text string) bool { return countLines(text).Added == 20 })
	for range 300 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	out.WaitFor(t, func(text string) bool { return countLines(text) == s.counts })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Count(out.String(), "(initial list)\n") != 20 {
		t.Errorf("want one line for each of the 20 nodes of the initial list, got:\n%s", out)
	}
	last := out.String()[strings.LastIndex(out.String(), "  summary  "):]
	want := regexp.MustCompile(`^  summary  ` + terminal.Plural(len(s.nodes), "node") + `: [^;]+; ` + s.counts.String() +
		`; Stopped at resourceVersion ` + server.ResourceVersion() + `, fresh \d\.\ds ago\n$`)
	if !want.MatchString(last) {
		t.Errorf("got summary %swant %s", last, want)
	}
}

// With --duration the program prints lines and ends with a summary.
func TestDurationEndsWithSummary(t *testing.T) {
	out := terminaltest.NewOutput()
	code, stderr := runAsync(t.Context(), out, "--nodes", "5", "--duration", "500ms")(t)
	if code != 0 || stderr != "" {
		t.Fatalf("got exit code %d and %s", code, stderr)
	}
	text := out.String()
	printed := countLines(text)
	if printed.Added < 5 || strings.Count(text, "summary") != 1 || !strings.Contains(text, "; "+printed.String()+"; Stopped at ") {
		t.Errorf("got %v in\n%s", printed, text)
	}
	for line := range strings.Lines(text) {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3}  [a-z]+ `).MatchString(line) {
			t.Errorf("got line without a time: %q", line)
		}
	}
}

func TestEventTextNamesNodeOrChange(t *testing.T) {
	before, after := testNode("web-1", 0, ""), testNode("web-1", 0, "", cordoned)
	for _, tc := range []struct {
		event cache.Event[*corev1.Node]
		want  string
	}{
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: testNode("web-1", 0, corev1.ConditionTrue)}, "Ready, v1.36.1, pool=web"},
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: testNode("c", 0, "", withoutVersion)}, "Unknown, <none>, pool=web"},
		{cache.Event[*corev1.Node]{Type: cache.EventUpdate, Old: before, New: after}, "Unknown -> Unknown,SchedulingDisabled"},
	} {
		if got := eventText(tc.event); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// fullDisk is a writer that always fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorEndsProgram(t *testing.T) {
	for _, mode := range []string{"--duration=1m", "--once"} {
		errs := terminaltest.NewOutput()
		code := run(t.Context(), []string{mode}, fullDisk{}, errs)
		if code != 1 || errs.String() != "nodecache: write output: no space left on device\n" {
			t.Errorf("%s: got exit code %d and %s", mode, code, errs)
		}
	}
}
