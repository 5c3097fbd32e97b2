// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// run runs a view with one state after the other, each for a second.
func run(t *testing.T, v View, states ...State) {
	t.Helper()
	began, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		v.Run(done, func() State { return states[min(int(time.Since(began)/time.Second), len(states)-1)] })
	}()
	<-time.After(time.Duration(len(states))*time.Second - time.Millisecond)
	close(done)
	<-ended
}

// A line is written for each change, when a failure begins or changes, when it ends, and every five
// seconds.
func TestLinesShowChangesAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := NewView(&out, "nodes")
		v.Record("added", "web-0", "Ready\n")
		ok, refused, reset := stateOf(1), stateOf(1), stateOf(1)
		refused.Failure, reset.Failure = "refused", "reset\x1b[2J"
		run(t, v, ok, refused, refused, reset, ok, ok)
		v.Finish(ok)
		var events []string
		for line := range strings.Lines(out.String()) {
			events = append(events, line[len("15:04:05.000  "):])
		}
		want := `watching  nodes
added     web-0  Ready
error     refused
error     reset [2J
recovered Watching at resourceVersion 7, fresh 0.1s ago
summary   1 nodes; Watching at resourceVersion 7, fresh 0.1s ago
summary   1 nodes; Watching at resourceVersion 7, fresh 0.1s ago
`
		if got := strings.Join(events, ""); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// The screen shows frames on the alternate screen, and the last one on the normal screen.
func TestScreenRestoresTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &screen{out: &out, title: "nodes", size: func() (int, int) { return 80, 24 }}
		for range 2 * maxEvents {
			s.Record("updated", "web-1", "STATUS Ready -> NotReady")
		}
		run(t, s, stateOf(2))
		live := out.String()
		if !strings.HasPrefix(live, enterScreen+cursorHome+"\x1b[1mnodes; Ctrl-C ends it\x1b[0m"+clearLine+"\r\n") || !strings.HasSuffix(live, clearBelow+leaveScreen) {
			t.Errorf("got %q", live)
		}
		if n := strings.Count(live, cursorHome); n != 4 || strings.Count(live, "\x1b[31m* web-1") != n || len(s.events) != maxEvents {
			t.Errorf("got %d frames in a second, %d events, and %q", n, len(s.events), live)
		}
		out.Reset()
		s.Finish(stateOf(2))
		if last := out.String(); strings.Contains(last, cursorHome) || !strings.Contains(last, "\n\x1b[m2 nodes\x1b[0m\n") {
			t.Errorf("got the last frame %q", last)
		}
	})
}
