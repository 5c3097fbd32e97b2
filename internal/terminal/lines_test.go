// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// An error is printed when it begins and changes, and recovery when it ends.
func TestLinesReportEachErrorOnce(t *testing.T) {
	out := terminaltest.NewOutput()
	v := newLinesView(out)
	v.now = noon
	ok := stateOf("")
	failing := func(text string) State {
		s := ok
		s.Status.Err, s.Status.ErrSince, s.Status.Attempts = errors.New(text), noon().Add(-time.Minute), 2
		return s
	}
	reported := ""
	for _, s := range []State{ok, failing("list: no route"), failing("list: no route"), failing("list: reset"), ok, ok} {
		reported = v.reportError(s, reported)
	}
	want := `
12:00:00.000  error    failing for 60s, 2 attempts: list: no route
12:00:00.000  error    failing for 60s, 2 attempts: list: reset
12:00:00.000  recovered Watching at resourceVersion 4711, fresh 1.4s ago
`
	if diff := cmp.Diff(want[1:], out.Take()); diff != "" {
		t.Error(diff)
	}
}

func TestLinesPrintPeriodicSummaries(t *testing.T) {
	out := terminaltest.NewOutput()
	v := newLinesView(out)
	shown := shownNodes(fake.NewListerWatcher(&corev1.Node{}), v, nil)
	start(t, shown)
	ticks, ended := make(chan time.Time), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- v.loop(ctx, shown, ticks) }()
	for range 2*ticksPerSummary + 1 {
		ticks <- time.Time{}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	text := out.Take()
	if got := strings.Count(text, "  summary  0 nodes; 0 added, 0 updated, 0 deleted; "); got != 2 {
		t.Errorf("got %d summaries in %d ticks, want 2:\n%s", got, 2*ticksPerSummary+1, text)
	}
	if !strings.Contains(text, "  watching nodes of the test's cluster\n") {
		t.Errorf("got %s", text)
	}
}

// TestProgressOfInitialList prints how far a long list is, in lines and on the screen, and does not
// give it up as long as it brings objects.
func TestProgressOfInitialList(t *testing.T) {
	listing := stateOf("0 nodes")
	listing.Status = cache.Status{Phase: cache.PhaseListing, Received: 12_000, BytesRead: 34_560_000}
	listing.began = noon().Add(-4 * time.Second)
	if got, want := listing.progress(), "listing, 12000 objects, 34.6 MB, 3000 objects/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if text := frameText(listing.frame(nil, 80, 24)); !strings.Contains(text, "listing, 12000 objects") {
		t.Errorf("got frame\n%s", text)
	}
	for name, edit := range map[string]func(*State){
		"synced":  func(s *State) { s.Status.Synced = true },
		"nothing": func(s *State) { s.Status.Received = 0 },
	} {
		s := listing
		edit(&s)
		if got := s.progress(); got != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		out := terminaltest.NewOutput()
		v := newLinesView(out)
		slow := &slowInformer{ready: make(chan struct{})}
		shown := Shown{Noun: "nodes", Server: "slow", Informer: slow, State: func(now time.Time) State {
			return State{Status: slow.Status(), Now: now, Rows: func(int) []Row { return nil }}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- v.run(ctx, shown) }()
		go func() {
			for range 60 { // for 60 seconds, which is longer than a server may be silent
				<-time.After(time.Second)
				slow.received.Add(500)
			}
			close(slow.ready)
		}()
		if err := shown.waitForSync(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if text := out.Take(); strings.Count(text, "  progress listing, ") < 50 || !strings.Contains(text, "500 objects/s") {
			t.Errorf("got\n%s", text)
		}
	})
}

// slowInformer is an informer whose list lasts until ready is closed.
type slowInformer struct {
	received atomic.Int64
	ready    chan struct{}
}

func (i *slowInformer) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (i *slowInformer) HasSynced() bool { return false }

func (i *slowInformer) Status() cache.Status {
	return cache.Status{Phase: cache.PhaseListing, Received: int(i.received.Load())}
}

func (i *slowInformer) WaitForSync(ctx context.Context) error {
	select {
	case <-i.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestEventText(t *testing.T) {
	for _, tc := range []struct {
		event Event
		want  string
	}{
		{Event{Type: cache.EventAdd, Key: "web-1", Text: "Ready, evil=\x1b[2J\nx"}, "added    web-1  Ready, evil= [2J x"},
		{Event{Type: cache.EventAdd, Key: "b", Text: "Unknown", InInitialList: true}, "added    b  Unknown (initial list)"},
		{Event{Type: cache.EventUpdate, Key: "web-1", Text: "Unknown -> Ready"}, "updated  web-1  Unknown -> Ready"},
		{Event{Type: cache.EventDelete, Key: "web-1", Text: "Ready"}, "deleted  web-1"},
	} {
		if got := tc.event.text(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// fullDisk is a writer that always fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorEndsView(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Node{})
	lw.Create(node("web-1", "one"))
	for want, v := range map[string]View{
		"draw screen: no space left on device":  newScreenView(fullDisk{}, func() (int, int) { return 80, 24 }),
		"write output: no space left on device": newLinesView(fullDisk{}),
	} {
		if err := Show(t.Context(), v, shownNodes(lw, v, nil), 0, nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	v := newLinesView(fullDisk{})
	for range 5 {
		v.print("text")
	}
	if len(v.failed) != 1 {
		t.Errorf("got %d reported write errors, want 1", len(v.failed))
	}
}
