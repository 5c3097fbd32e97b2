// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	interval        = 250 * time.Millisecond // between two looks at the state
	looksPerSummary = 20
)

// lines is a view that writes a line for each change, each failure and each recovery, and a summary
// every five seconds.
type lines struct {
	mu  sync.Mutex // guards out
	out io.Writer
}

func newLines(out io.Writer, title string) *lines {
	l := &lines{out: out}
	l.print("watching", title)
	return l
}

// Record implements View. A slow reader of the output delays this handler, but not the cache.
func (l *lines) Record(change, key, text string) { l.print(change, key+"  "+text) }

// Run implements View.
func (l *lines) Run(done <-chan struct{}, state func() State) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failure := ""
	for look := 1; ; look++ {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		s := state()
		if s.Failure != failure {
			l.printFailure(s)
			failure = s.Failure
		}
		if look%looksPerSummary == 0 {
			l.Finish(s)
		}
	}
}

// printFailure writes a failure that has begun or changed, or that the cache has recovered.
func (l *lines) printFailure(s State) {
	if s.Failure == "" {
		l.print("recovered", s.Health)
		return
	}
	l.print("error", s.Failure)
}

// Finish implements View.
func (l *lines) Finish(s State) { l.print("summary", s.Summary+"; "+s.Health) }

func (l *lines) print(event, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, eventText(time.Now(), event, text))
}

// eventText returns an event as a line with the time.
func eventText(at time.Time, event, text string) string {
	return fmt.Sprintf("%s  %-9s %s", at.Format("15:04:05.000"), event, strings.TrimSpace(sanitize(text)))
}
