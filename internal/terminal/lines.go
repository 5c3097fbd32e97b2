// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kinformer/kinformer/cache"
)

const (
	// statusInterval is the time between two looks at the informer's status.
	statusInterval = time.Second
	// ticksPerSummary is the number of status intervals between two summaries.
	ticksPerSummary = 5
)

// linesView writes a line for each event and a summary every few seconds, for pipes, files and
// logs.
type linesView struct {
	eventCounter
	now func() time.Time

	mu     sync.Mutex // guards the fields below, which Record and run both use
	out    io.Writer
	failed chan error // receives the first write error
	broken bool       // set after a write error; nothing more is written
}

func newLinesView(out io.Writer) *linesView {
	return &linesView{out: out, now: time.Now, failed: make(chan error, 1)}
}

// Record writes a line for the event. A slow reader of the output delays only this handler, not the
// cache or other handlers.
func (v *linesView) Record(event Event) {
	v.eventCounter.Record(event)
	v.print(event.text())
}

// run writes errors and summaries until ctx ends.
func (v *linesView) run(ctx context.Context, shown Shown) error {
	ticker := time.NewTicker(statusInterval)
	defer ticker.Stop()
	return v.loop(ctx, shown, ticker.C)
}

// loop checks the informer's status at each tick.
func (v *linesView) loop(ctx context.Context, shown Shown, ticks <-chan time.Time) error {
	v.print(Sanitize("watching " + shown.Noun + " of " + shown.Server))
	began := v.now()
	var reported string // the last reported error, "" after recovery
	for tick := 1; ; tick++ {
		select {
		case <-ctx.Done():
			return nil
		case err := <-v.failed:
			return err
		case <-ticks:
		}
		s := shown.state(v.counts(), v.now())
		s.began = began
		reported = v.reportError(s, reported)
		if progress := s.progress(); progress != "" {
			v.print("progress " + progress)
		}
		if tick%ticksPerSummary == 0 {
			v.print(summaryLine(s))
		}
	}
}

// reportError writes a line when the informer's error begins or changes, and when the informer
// watches again. It returns the reported error.
func (v *linesView) reportError(s State, reported string) string {
	var current string
	if s.Status.Err != nil {
		current = s.Status.Err.Error()
	}
	switch current {
	case reported:
	case "":
		if s.Status.Phase != cache.PhaseWatching {
			return reported
		}
		v.print("recovered " + s.freshness())
	default:
		v.print("error    " + s.failure())
	}
	return current
}

// finish writes the final summary.
func (v *linesView) finish(shown Shown) error {
	v.print(summaryLine(shown.state(v.counts(), v.now())))
	select {
	case err := <-v.failed:
		return err
	default:
		return nil
	}
}

func summaryLine(s State) string {
	return fmt.Sprintf("summary  %s; %s; %s", Sanitize(s.Summary), s.counts, s.freshness())
}

// print writes a line with the time.
func (v *linesView) print(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.broken {
		return
	}
	if _, err := fmt.Fprintf(v.out, "%s  %s\n", v.now().Format(timeFormat), text); err != nil {
		v.broken = true
		v.failed <- fmt.Errorf("write output: %w", err)
	}
}
