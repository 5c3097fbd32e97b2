package main

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
	corev1 "k8s.io/api/core/v1"

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

// stateOf returns the state of a cache of nodes at noon.
func stateOf(t *testing.T, nodes ...*corev1.Node) viewState {
	t.Helper()
	store := cache.NewStore[*corev1.Node](nil, nil)
	if err := store.Replace(nodes, "4711"); err != nil {
		t.Fatal(err)
	}
	return viewState{
		server: "https://cluster.example:6443",
		nodes:  store.Snapshot(),
		counts: eventCounts{added: 12, updated: 34, deleted: 5},
		now:    noon(),
		status: cache.Status{Phase: cache.PhaseWatching, FreshAt: noon().Add(-1400 * time.Millisecond)},
	}
}

// mixedNodes returns nodes in all conditions.
func mixedNodes() []*corev1.Node {
	nodes := []*corev1.Node{
		testNode("control-plane-000", 400*24*time.Hour, corev1.ConditionTrue, labelled(controlPlaneLabel, "")),
		testNode("strange", 0, "", func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1\x1b[31m\tred\n" }),
		testNode("web-cordoned", 26*time.Hour, corev1.ConditionTrue, cordoned),
		testNode("web-down", 90*time.Minute, corev1.ConditionUnknown, cordoned),
	}
	for i := range 12 {
		nodes = append(nodes, testNode(fmt.Sprintf("web-%03d", i), time.Duration(i)*time.Minute, corev1.ConditionTrue))
	}
	return nodes
}

// eventsAtNoon returns three events, the first of which is too old for a mark.
func eventsAtNoon() recentEvents {
	return recentEvents{[]recordedEvent{
		{noon().Add(-5 * time.Second), "web-000", "+", "added    web-000  Ready"},
		{noon().Add(-time.Second), "web-001", "~", "updated  web-001  Ready -> NotReady"},
		{noon().Add(-time.Second / 2), "web-cordoned", "+", "added    web-cordoned  Ready,SchedulingDisabled"},
	}}
}

// frameText returns the lines of a frame, each with its style.
func frameText(frame []line) string {
	var b strings.Builder
	for _, l := range frame {
		fmt.Fprintf(&b, "%2s|%s\n", l.style, l.text)
	}
	return b.String()
}

// failing returns a state after three minutes of failures.
func failing(s viewState) viewState {
	s.status.Phase, s.status.Attempts = cache.PhaseRetrying, 7
	s.status.Err = &url.Error{Op: "Get", URL: "https://cluster.example:6443/api", Err: errors.New("\x1b[31mno\nroute")}
	s.status.ErrSince = noon().Add(-3 * time.Minute)
	return s
}

func TestFrames(t *testing.T) {
	watching := stateOf(t, mixedNodes()...)
	empty := viewState{
		server: "http://127.0.0.1:1", nodes: cache.NewStore[*corev1.Node](nil, nil).Snapshot(),
		now: noon(), status: cache.Status{Phase: cache.PhaseListing},
	}
	stopped := stateOf(t, mixedNodes()[:1]...)
	stopped.status.Phase = cache.PhaseStopped
	for name, tc := range map[string]struct {
		viewState
		recentEvents
		width, height int
	}{
		"large":         {watching, eventsAtNoon(), 120, 40},
		"usual":         {watching, eventsAtNoon(), 80, 24},
		"low":           {watching, eventsAtNoon(), 100, 10},
		"small":         {watching, eventsAtNoon(), 30, 6},
		"small_failing": {failing(watching), eventsAtNoon(), 30, 6},
		"failing":       {failing(watching), recentEvents{}, 80, 24},
		"empty":         {empty, recentEvents{}, 80, 24},
		"stopped":       {stopped, recentEvents{}, 80, 24},
	} {
		golden(t, name, frameText(tc.frame(tc.recentEvents, tc.width, tc.height)))
	}
}

// A frame fits any terminal and shows all nodes if there is room.
func TestFramesFitTerminal(t *testing.T) {
	for _, nodes := range [][]*corev1.Node{nil, mixedNodes()[:3], mixedNodes()} {
		s := stateOf(t, nodes...)
		for height := range 50 {
			for width := 0; width < 140; width += 7 {
				frame := s.frame(eventsAtNoon(), width, height)
				if len(frame) > height {
					t.Fatalf("got %d lines, want at most %d", len(frame), height)
				}
				for _, l := range frame {
					if n := utf8.RuneCountInString(l.text); n > width || strings.ContainsAny(l.text, "\n\t\x1b") {
						t.Fatalf("got %d columns, want at most %d: %q", n, width, l.text)
					}
				}
			}
			shown := strings.Count(frameText(s.frame(recentEvents{}, 140, height)), "10.0.0.7")
			if need := headLines + 1 + len(nodes); height >= need+maxRecentLines && shown != len(nodes) {
				t.Errorf("got %d of %d nodes in %d lines", shown, len(nodes), height)
			}
		}
	}
}

// A small terminal shows nodes rather than head lines, and says how many nodes it does not show.
func TestSmallTerminalShowsNodes(t *testing.T) {
	for _, s := range []viewState{stateOf(t, mixedNodes()...), failing(stateOf(t, mixedNodes()...))} {
		for height := 1; height < 12; height++ {
			text := frameText(s.frame(eventsAtNoon(), 30, height))
			shown := 0
			for _, node := range mixedNodes() {
				shown += strings.Count(text, "  "+node.Name+" ") + strings.Count(text, "~ "+node.Name+" ")
			}
			if want := min(minNodeRows, max(1, height-2)); shown < want {
				t.Errorf("got %d nodes in %d lines, want at least %d:\n%s", shown, height, want, text)
			}
			if hidden := fmt.Sprintf("... and %d more", len(mixedNodes())-shown); height > 1 && !strings.Contains(text, hidden) {
				t.Errorf("frame of %d lines does not contain %q:\n%s", height, hidden, text)
			}
		}
	}
}
