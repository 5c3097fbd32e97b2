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

// countLines counts what lines say has happened.
func countLines(text string) counts {
	return counts{strings.Count(text, "  added    "), strings.Count(text, "  updated  "), strings.Count(text, "  deleted  ")}
}

// What is printed and what is counted is what the simulation did, over HTTP and
// through client-go.
func TestLinesAgreeWithTheSimulation(t *testing.T) {
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
	out := newScreenText()
	v := newLines(out)
	nodes, stop := startCache(t, cache.ListWatchOf(client.CoreV1().Nodes()), v)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.play(ctx, nodes, nil) }()
	for range 300 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	out.await(t, func(text string) bool { return countLines(text) == s.counts })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	stop()
	if err := v.finish(nodes); err != nil {
		t.Error(err)
	}
	if strings.Count(out.String(), "(initial list)\n") != 20 {
		t.Errorf("not each of the 20 nodes of the initial list is told:\n%s", out)
	}
	last := out.String()[strings.Index(out.String(), "  summary  "):]
	want := regexp.MustCompile(`^  summary  ` + count(len(s.nodes), "node") + `: [^;]+; ` + s.counts.String() +
		`; Stopped at resourceVersion ` + server.ResourceVersion() + `, fresh \d\.\ds ago\n$`)
	if !want.MatchString(last) {
		t.Errorf("got %swant %s", last, want)
	}
}

// The whole program, as a pipe sees it.
func TestDuration(t *testing.T) {
	out := newScreenText()
	code, stderr := runAsync(t.Context(), out, "--nodes", "5", "--duration", "900ms")(t)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d and %s", code, stderr)
	}
	text := out.String()
	told := countLines(text)
	if told.added < 5 || strings.Count(text, "summary") != 1 || !strings.Contains(text, "; "+told.String()+"; Stopped at ") {
		t.Errorf("%v in\n%s", told, text)
	}
	for line := range strings.Lines(text) {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3}  [a-z]+ `).MatchString(line) {
			t.Errorf("a line without a time: %q", line)
		}
	}
}

// A summary comes with every fifth look at the status, and what is wrong when it
// begins, changes and ends.
func TestLinesTellTroubleOnce(t *testing.T) {
	out := newScreenText()
	l := newLines(out)
	l.now = noon
	p := pictureOf(t)
	ill := func(text string) picture {
		ill := p
		ill.status.Err, ill.status.ErrSince, ill.status.Attempts = errors.New(text), noon().Add(-time.Minute), 2
		return ill
	}
	told := ""
	for _, next := range []picture{p, ill("list: no route"), ill("list: no route"), ill("list: reset"), p, p} {
		told = l.tellTrouble(next, told)
	}
	want := `
12:00:00.000  trouble  failing for 60s, 2 attempts: list: no route
12:00:00.000  trouble  failing for 60s, 2 attempts: list: reset
12:00:00.000  recovered Watching at resourceVersion 4711, fresh 1.4s ago
`
	if diff := cmp.Diff(want[1:], out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSummaries(t *testing.T) {
	out := newScreenText()
	l := newLines(out)
	nodes, _ := startCache(t, fake.NewListerWatcher(&corev1.Node{}), l)
	ticks, ended := make(chan time.Time), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- l.play(ctx, nodes, ticks) }()
	for range 2*summaryEvery + 1 {
		ticks <- time.Time{}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := strings.Count(out.String(), "  summary  0 nodes; 0 added, 0 updated, 0 deleted; "); got != 2 {
		t.Errorf("%d summaries in %d looks:\n%s", got, 2*summaryEvery+1, out)
	}
}

func TestEventLines(t *testing.T) {
	node := testNode("web-1", 0, corev1.ConditionTrue, labelled("evil", "\x1b[2J\nx"))
	for _, tc := range []struct {
		event cache.Event[*corev1.Node]
		want  string
	}{
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: node}, "added    web-1  Ready, v1.36.1, evil= [2J x,pool=web"},
		{cache.Event[*corev1.Node]{Type: cache.EventAdd, New: testNode("b", 0, ""), InInitialList: true}, "added    b  Unknown, v1.36.1, pool=web (initial list)"},
		{cache.Event[*corev1.Node]{Type: cache.EventUpdate, Old: testNode("web-1", 0, ""), New: testNode("web-1", 0, "", cordoned)}, "updated  web-1  Unknown -> Unknown,SchedulingDisabled"},
		{cache.Event[*corev1.Node]{Type: cache.EventDelete, Old: node}, "deleted  web-1"},
	} {
		if got := eventText(tc.event); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// full is standard output on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatFails(t *testing.T) {
	for _, mode := range []string{"--duration=1m", "--once"} {
		errs := newScreenText()
		code := run(t.Context(), []string{mode}, full{}, errs)
		if code != 1 || errs.String() != "nodecache: cannot write: no space left on device\n" {
			t.Errorf("%s: exit code %d and %s", mode, code, errs)
		}
	}
	l := newLines(full{})
	for range 5 {
		l.print("in vain")
	}
	if len(l.failed) != 1 {
		t.Error("the failure is not told once")
	}
	s := newScreen(full{}, func() (int, int) { return 80, 24 })
	if err := show(t.Context(), options{nodes: 3}, s); err == nil || err.Error() != "cannot draw: no space left on device" {
		t.Errorf("screen: %v", err)
	}
}
