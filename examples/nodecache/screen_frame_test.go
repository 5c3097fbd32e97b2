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

var update = flag.Bool("update", false, "write testdata anew")

// golden compares a text with a file of testdata.
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
		t.Errorf("%s: -want +got (go test -update writes it anew)\n%s", file, diff)
	}
}

// pictureOf returns a picture of some nodes at noon.
func pictureOf(t *testing.T, nodes ...*corev1.Node) picture {
	t.Helper()
	store := cache.NewStore[*corev1.Node](nil, nil)
	if err := store.Replace(nodes, "4711"); err != nil {
		t.Fatal(err)
	}
	return picture{
		server: "https://cluster.example:6443",
		nodes:  store.Snapshot(),
		counts: counts{added: 12, updated: 34, deleted: 5},
		now:    noon(),
		status: cache.Status{Phase: cache.PhaseWatching, FreshAt: noon().Add(-1400 * time.Millisecond)},
	}
}

// mixedNodes are nodes in all conditions.
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

// newsAtNoon are three events, one of them too old to be marked.
func newsAtNoon() news {
	return news{[]happened{
		{noon().Add(-5 * time.Second), "web-000", "+", "added    web-000  Ready"},
		{noon().Add(-time.Second), "web-001", "~", "updated  web-001  Ready -> NotReady"},
		{noon().Add(-time.Second / 2), "web-cordoned", "+", "added    web-cordoned  Ready,SchedulingDisabled"},
	}}
}

// text is a frame as it is seen, with the style of each line before it.
func text(frame []line) string {
	var b strings.Builder
	for _, l := range frame {
		fmt.Fprintf(&b, "%2s|%s\n", l.style, l.text)
	}
	return b.String()
}

func TestFrames(t *testing.T) {
	well := pictureOf(t, mixedNodes()...)
	ill := well
	ill.status.Phase, ill.status.Attempts = cache.PhaseRetrying, 7
	ill.status.Err, ill.status.ErrSince = &url.Error{Op: "Get", URL: "https://cluster.example:6443/api", Err: errors.New("\x1b[31mno\nroute")}, noon().Add(-3*time.Minute)
	empty := picture{server: "http://127.0.0.1:1", nodes: cache.NewStore[*corev1.Node](nil, nil).Snapshot(), now: noon(), status: cache.Status{Phase: cache.PhaseListing}}
	stopped := pictureOf(t, mixedNodes()[:1]...)
	stopped.status.Phase = cache.PhaseStopped
	for name, tc := range map[string]struct {
		picture
		news
		width, height int
	}{
		"roomy":   {well, newsAtNoon(), 120, 40},
		"usual":   {well, newsAtNoon(), 80, 24},
		"low":     {well, newsAtNoon(), 100, 10},
		"ill":     {ill, news{}, 80, 24},
		"empty":   {empty, news{}, 80, 24},
		"stopped": {stopped, news{}, 80, 24},
	} {
		golden(t, name, text(tc.frame(tc.news, tc.width, tc.height)))
	}
}

// However small a terminal is, what is drawn fits, and shows as many nodes as it
// can.
func TestFramesFit(t *testing.T) {
	for _, nodes := range [][]*corev1.Node{nil, mixedNodes()[:3], mixedNodes()} {
		p := pictureOf(t, nodes...)
		for height := range 50 {
			for width := 0; width < 140; width += 7 {
				frame := p.frame(newsAtNoon(), width, height)
				if len(frame) > height {
					t.Fatalf("%d lines of %d", len(frame), height)
				}
				for _, l := range frame {
					if n := utf8.RuneCountInString(l.text); n > width || strings.ContainsAny(l.text, "\n\t\x1b") {
						t.Fatalf("%d columns of %d: %q", n, width, l.text)
					}
				}
			}
			shown := strings.Count(text(p.frame(news{}, 140, height)), "10.0.0.7")
			if need := headLines + 1 + len(nodes); height >= need+recentLines && shown != len(nodes) {
				t.Errorf("%d of %d nodes in %d lines", shown, len(nodes), height)
			}
		}
	}
}
