// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test of a progress in a bubble, where time passes at once.
func bubble(t *testing.T, terminal bool, test func(p *progress), want string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		p.terminal = terminal
		test(p)
		if out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	})
}

func TestProgressIsALineEveryFewSeconds(t *testing.T) {
	bubble(t, false, func(p *progress) {
		for i := range 12 {
			<-time.After(time.Second)
			p.update("pods", "%d", i)
			p.begin("pods", "begin %d", i)
		}
		p.print("pods", "done")
		p.clear()
	}, "pods: 4\npods: 9\npods: done\n")
}

func TestProgressOnATerminalIsRewritten(t *testing.T) {
	bubble(t, true, func(p *progress) {
		for i := range 5 {
			<-time.After(60 * time.Millisecond)
			p.update("pods", "%d", i)
		}
		p.begin("pods", "measure")
		p.print("pods", "done")
		p.begin("nodes", "measure")
		p.clear()
		p.clear()
	}, "\r\x1b[Kpods: 1\r\x1b[Kpods: 3\r\x1b[Kpods: measure\r\x1b[Kpods: done\n\r\x1b[Knodes: measure\r\x1b[K")
}

func TestLineThatIsRewrittenFitsTheTerminal(t *testing.T) {
	bubble(t, true, func(p *progress) {
		p.begin("pods", "%s", strings.Repeat("x", 100))
	}, "\r\x1b[Kpods: "+strings.Repeat("x", 73))
}

func TestRate(t *testing.T) {
	if got, want := rate(6_000_000, 2*time.Second), "3.00 MB/s"; got != want {
		t.Errorf("rate %q, want %q", got, want)
	}
	if got, want := rate(1000, 0), "1.00 MB/s"; got != want {
		t.Errorf("rate %q, want %q", got, want)
	}
}
