package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

const (
	// statusEvery is the time between two looks at the informer's status: it is
	// asked for, and does not report by itself.
	statusEvery = time.Second
	// summaryEvery is the time between two summaries, in those looks.
	summaryEvery = 5
)

// lines writes a line for each event and a summary now and then: for pipes, files
// and logs.
type lines struct {
	tally
	now func() time.Time

	mu     sync.Mutex // guards what follows: the handler and run both write
	out    io.Writer
	failed chan error // the first failure to write; then nothing is written any more
	broken bool
}

func newLines(out io.Writer) *lines {
	return &lines{out: out, now: time.Now, failed: make(chan error, 1)}
}

// OnEvent writes an event's line. A reader who is slow slows only this handler:
// neither the cache nor any other handler waits for it.
func (l *lines) OnEvent(event cache.Event[*corev1.Node]) {
	l.tally.OnEvent(event)
	l.print(eventText(event))
}

// run writes summaries until ctx ends.
func (l *lines) run(ctx context.Context, nodes *nodeCache) error {
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	return l.play(ctx, nodes, ticker.C)
}

// play looks at the informer at each tick.
func (l *lines) play(ctx context.Context, nodes *nodeCache, ticks <-chan time.Time) error {
	l.print("watching " + clean(nodes.server))
	var told string // the trouble that was told, as long as it lasts
	for tick := 1; ; tick++ {
		select {
		case <-ctx.Done():
			return nil
		case err := <-l.failed:
			return err
		case <-ticks:
		}
		p := nodes.picture(l.counts(), l.now())
		told = l.tellTrouble(p, told)
		if tick%summaryEvery == 0 {
			l.print(summary(p))
		}
	}
}

// tellTrouble writes what is wrong when it begins, changes and ends. It returns
// what was told.
func (l *lines) tellTrouble(p picture, told string) string {
	var cause string
	if p.status.Err != nil {
		cause = p.status.Err.Error()
	}
	switch cause {
	case told:
	case "":
		l.print("recovered " + p.freshness())
	default:
		l.print("trouble  " + p.trouble())
	}
	return cause
}

// finish writes the last summary.
func (l *lines) finish(nodes *nodeCache) error {
	l.print(summary(nodes.picture(l.counts(), l.now())))
	select {
	case err := <-l.failed:
		return err
	default:
		return nil
	}
}

func summary(p picture) string {
	return fmt.Sprintf("summary  %s; %s; %s", p.population(), p.counts, p.freshness())
}

// print writes a line with the time.
func (l *lines) print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return
	}
	if _, err := fmt.Fprintf(l.out, "%s  %s\n", l.now().Format(timeFormat), text); err != nil {
		l.broken = true
		l.failed <- fmt.Errorf("cannot write: %w", err)
	}
}
