// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// The screen view redraws only frames that have changed, follows the terminal's size and restores
// the terminal at the end.
func TestScreenRedrawsChangedFrames(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Node{})
	lw.Create(node("web-1", "one"))
	var width, height atomic.Int64
	width.Store(100)
	height.Store(24)
	out, handled := terminaltest.NewOutput(), make(chan struct{}, 1)
	s := newScreenView(out, func() (int, int) { return int(width.Load()), int(height.Load()) })
	s.colours = true
	shown := shownNodes(lw, s, handled)
	stop := start(t, shown)
	<-handled
	// The event of this update proves that the watch is open.
	lw.Update(node("web-1", "two"))
	<-handled

	ticks, ended := make(chan time.Time), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.loop(ctx, shown, ticks) }()
	now := time.Now()
	// drawn returns the output of two ticks. The loop receives the second tick after drawing the
	// frame of the first.
	drawn := func() string {
		ticks <- now
		ticks <- now
		return out.Take()
	}
	first := drawn()
	if !strings.HasPrefix(first, enterScreen+cursorHome) || !strings.Contains(first, "web-1   two") || !strings.HasSuffix(first, clearRestOfFrame) {
		t.Errorf("got first frame %q", first)
	}
	if strings.Contains(first, "added    web-1") || strings.Contains(first, "+ web-1") {
		t.Errorf("first frame has events of the initial list: %q", first)
	}
	if strings.Count(first, clearRestOfLine) < headLines || strings.Contains(strings.ReplaceAll(first, "\r\n", ""), "\n") {
		t.Errorf("frame does not clear the rest of each line: %q", first)
	}
	if again := drawn(); strings.Contains(again, enterScreen) {
		t.Errorf("second frame enters the alternate screen again: %q", again)
	}
	if again := drawn(); again != "" {
		t.Errorf("unchanged frame was drawn again: %q", again)
	}

	height.Store(30)
	if got := drawn(); got == "" {
		t.Error("frame was not drawn again after a resize")
	}
	lw.Update(node("web-1", "three, which is long"))
	<-handled
	now = time.Now()
	if got := drawn(); !strings.Contains(got, "\x1b[32m~ web-1   three") || !strings.Contains(got, "updated  web-1  three, which is long") {
		t.Errorf("got frame %q after an update", got)
	}
	width.Store(20)
	if got := drawn(); !strings.Contains(got, "\x1b[32m~ web-1   three, wh…\x1b[0m"+clearRestOfLine) {
		t.Errorf("got frame %q after the terminal shrank", got)
	}

	cancel()
	if err := <-ended; err != nil || out.Take() != leaveScreen {
		t.Errorf("loop returned %v or did not leave the alternate screen", err)
	}
	stop()
	width.Store(100)
	s.colours = false
	if err := s.finish(shown); err != nil {
		t.Error(err)
	}
	last := out.Take()
	if !strings.Contains(last, "1 node\nStopped at resourceVersion 4, fresh ") || !strings.Contains(last, "; 1 added, 2 updated, 0 deleted\n") {
		t.Errorf("got final frame %q", last)
	}
}

func TestNewViewOfNonTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, v := range map[string]View{"a buffer": NewView(terminaltest.NewOutput(), false), "a file": NewView(file, false)} {
		if _, ok := v.(*linesView); !ok {
			t.Errorf("%s: got a %T, want a linesView", name, v)
		}
	}
	if _, ok := NewView(file, true).(*onceView); !ok {
		t.Error("once: want a onceView")
	}
}

func TestShowRestoresTerminal(t *testing.T) {
	lw, out := fake.NewListerWatcher(&corev1.Node{}), terminaltest.NewOutput()
	lw.Create(node("web-1", "one"))
	s := newScreenView(out, func() (int, int) { return 80, 24 })
	ctx, cancel := context.WithCancel(t.Context())
	synced := func(context.Context) error { cancel(); return nil }
	if err := Show(ctx, s, shownNodes(lw, s, nil), 0, synced); err != nil {
		t.Fatal(err)
	}
	text := out.Take()
	if strings.Count(text, enterScreen) != 1 || strings.Count(text, leaveScreen) != 1 || !strings.Contains(text, "1 added") {
		t.Errorf("terminal not restored, or no final frame: %q", text)
	}
}
