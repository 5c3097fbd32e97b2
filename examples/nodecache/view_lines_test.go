package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// countLines counts the event lines of each type.
func countLines(text string) eventCounts {
	return eventCounts{strings.Count(text, "  added    "), strings.Count(text, "  updated  "), strings.Count(text, "  deleted  ")}
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
	out := newOutput()
	v := newLinesView(out)
	nodes, stop := startCache(t, cache.ListWatchOf(client.CoreV1().Nodes()), v)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.loop(ctx, nodes, nil) }()
	for range 300 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	out.waitFor(t, func(text string) bool { return countLines(text) == s.counts })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	stop()
	if err := v.finish(nodes); err != nil {
		t.Error(err)
	}
	if strings.Count(out.String(), "(initial list)\n") != 20 {
		t.Errorf("want one line for each of the 20 nodes of the initial list, got:\n%s", out)
	}
	last := out.String()[strings.Index(out.String(), "  summary  "):]
	want := regexp.MustCompile(`^  summary  ` + plural(len(s.nodes), "node") + `: [^;]+; ` + s.counts.String() +
		`; Stopped at resourceVersion ` + server.ResourceVersion() + `, fresh \d\.\ds ago\n$`)
	if !want.MatchString(last) {
		t.Errorf("got summary %swant %s", last, want)
	}
}

// With --duration the program prints lines and ends with a summary.
func TestDurationEndsWithSummary(t *testing.T) {
	out := newOutput()
	code, stderr := runAsync(t.Context(), out, "--nodes", "5", "--duration", "500ms")(t)
	if code != 0 || stderr != "" {
		t.Fatalf("got exit code %d and %s", code, stderr)
	}
	text := out.String()
	printed := countLines(text)
	if printed.added < 5 || strings.Count(text, "summary") != 1 || !strings.Contains(text, "; "+printed.String()+"; Stopped at ") {
		t.Errorf("got %v in\n%s", printed, text)
	}
	for line := range strings.Lines(text) {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3}  [a-z]+ `).MatchString(line) {
			t.Errorf("got line without a time: %q", line)
		}
	}
}

// An error is printed when it begins and changes, and recovery when it ends.
func TestLinesReportEachErrorOnce(t *testing.T) {
	out := newOutput()
	v := newLinesView(out)
	v.now = noon
	ok := stateOf(t)
	failing := func(text string) viewState {
		s := ok
		s.status.Err, s.status.ErrSince, s.status.Attempts = errors.New(text), noon().Add(-time.Minute), 2
		return s
	}
	reported := ""
	for _, s := range []viewState{ok, failing("list: no route"), failing("list: no route"), failing("list: reset"), ok, ok} {
		reported = v.reportError(s, reported)
	}
	want := `
12:00:00.000  error    failing for 60s, 2 attempts: list: no route
12:00:00.000  error    failing for 60s, 2 attempts: list: reset
12:00:00.000  recovered Watching at resourceVersion 4711, fresh 1.4s ago
`
	if diff := cmp.Diff(want[1:], out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLinesPrintPeriodicSummaries(t *testing.T) {
	out := newOutput()
	v := newLinesView(out)
	nodes, _ := startCache(t, fake.NewListerWatcher(&corev1.Node{}), v)
	ticks, ended := make(chan time.Time), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- v.loop(ctx, nodes, ticks) }()
	for range 2*ticksPerSummary + 1 {
		ticks <- time.Time{}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := strings.Count(out.String(), "  summary  0 nodes; 0 added, 0 updated, 0 deleted; "); got != 2 {
		t.Errorf("got %d summaries in %d ticks, want 2:\n%s", got, 2*ticksPerSummary+1, out)
	}
}

func TestEventText(t *testing.T) {
	node := testNode("web-1", 0, corev1.ConditionTrue, labelled("evil", "\x1b[2J\nx"))
	unregistered := testNode("c", 0, "", withoutVersion)
	waiting := testNode("web-1", 0, "")
	for _, tc := range []struct {
		event cache.Event[*corev1.Node]
		want  string
	}{
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: node}, "added    web-1  Ready, v1.36.1, evil= [2J x,pool=web"},
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: testNode("b", 0, ""), InInitialList: true}, "added    b  Unknown, v1.36.1, pool=web (initial list)"},
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: unregistered}, "added    c  Unknown, <none>, pool=web"},
		{
			cache.Event[*corev1.Node]{Type: cache.EventUpdate, Old: waiting, New: testNode("web-1", 0, "", cordoned)},
			"updated  web-1  Unknown -> Unknown,SchedulingDisabled",
		},
		{cache.Event[*corev1.Node]{Type: cache.EventDelete, Old: node}, "deleted  web-1"},
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
		errs := newOutput()
		code := run(t.Context(), []string{mode}, fullDisk{}, errs)
		if code != 1 || errs.String() != "nodecache: write output: no space left on device\n" {
			t.Errorf("%s: got exit code %d and %s", mode, code, errs)
		}
	}
	v := newLinesView(fullDisk{})
	for range 5 {
		v.print("text")
	}
	if len(v.failed) != 1 {
		t.Errorf("got %d reported write errors, want 1", len(v.failed))
	}
	screen := newScreenView(fullDisk{}, func() (int, int) { return 80, 24 })
	if err := show(t.Context(), options{nodes: 3}, screen); err == nil || err.Error() != "draw screen: no space left on device" {
		t.Errorf("screen: got %v", err)
	}
}
