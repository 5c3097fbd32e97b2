package main

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
)

// A screen draws over what it drew, only what is new, in the size that the
// terminal has by then, and leaves the terminal as it was.
func TestScreen(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Node{})
	lw.Create(testNode("web-1", 0, corev1.ConditionTrue))
	var width, height atomic.Int64
	width.Store(100)
	height.Store(24)
	out := newScreenText()
	s := newScreen(out, func() (int, int) { return int(width.Load()), int(height.Load()) })
	s.colours = true
	heard := make(chan struct{}, 1)
	nodes, stop := startCache(t, lw, relay{s, heard})
	<-heard
	lw.Update(testNode("web-1", 0, corev1.ConditionTrue, cordoned)) // once it is seen, the watch is open, and stays so
	<-heard

	ticks, ended := make(chan time.Time), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.play(ctx, nodes, ticks) }()
	now := time.Now()
	// drawn returns what two ticks draw: when the second is taken, the frame of the
	// first is done.
	drawn := func() string {
		ticks <- now
		ticks <- now
		return out.take()
	}
	first := drawn()
	if !strings.HasPrefix(first, enterScreen+home) || !strings.Contains(first, "web-1   Ready,SchedulingDisabled") || !strings.HasSuffix(first, endOfScreen) {
		t.Errorf("the first frame: %q", first)
	}
	if strings.Contains(first, "added    web-1") || strings.Contains(first, "+ web-1") {
		t.Errorf("the initial list is no news: %q", first)
	}
	if strings.Count(first, endOfLine) < headLines || strings.Contains(strings.ReplaceAll(first, "\r\n", ""), "\n") {
		t.Errorf("a frame must clear each line that it draws over: %q", first)
	}
	if again := drawn(); strings.Contains(again, enterScreen) {
		t.Errorf("it entered the screen again: %q", again)
	}
	if again := drawn(); again != "" {
		t.Errorf("it drew again what stood there: %q", again)
	}

	height.Store(30)
	if got := drawn(); got == "" {
		t.Error("it did not draw anew what a resize may have disturbed")
	}
	lw.Update(testNode("web-1", 0, corev1.ConditionFalse))
	<-heard
	now = time.Now()
	if got := drawn(); !strings.Contains(got, "\x1b[31m~ web-1   NotReady") || !strings.Contains(got, "updated  web-1  Ready,SchedulingDisabled -> NotReady") {
		t.Errorf("after a change: %q", got)
	}
	width.Store(20)
	if got := drawn(); !strings.Contains(got, "\x1b[31m~ web-1   NotReady …\x1b[0m"+endOfLine) {
		t.Errorf("after the window shrank: %q", got)
	}

	cancel()
	if err := <-ended; err != nil || out.take() != leaveScreen {
		t.Errorf("ended with %v", err)
	}
	stop()
	width.Store(100)
	s.colours = false
	if err := s.finish(nodes); err != nil {
		t.Error(err)
	}
	last := out.take()
	if !strings.Contains(last, "1 node: 1 NotReady\nStopped at resourceVersion 4, fresh ") || !strings.Contains(last, "; 1 added, 2 updated, 0 deleted\n") {
		t.Errorf("what stays: %q", last)
	}
}

func TestWhatIsNoTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, v := range map[string]view{"a buffer": newView(options{}, newScreenText()), "a file": newView(options{}, file)} {
		if _, ok := v.(*lines); !ok {
			t.Errorf("%s is shown by a %T", name, v)
		}
	}
	if _, ok := newView(options{once: true}, file).(*once); !ok {
		t.Error("--once is not heeded")
	}
}
