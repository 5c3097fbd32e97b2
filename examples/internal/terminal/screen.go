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

// Terminal control sequences.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, without cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	cursorHome  = "\x1b[H"
	clearLine   = "\x1b[K" // the rest of it
	clearBelow  = "\x1b[J"
)

// maxEvents is the number of events that a screen keeps.
const maxEvents = 100

// screen is a view that draws a table over the last one.
type screen struct {
	out   io.Writer
	title string
	size  func() (width, height int)

	mu     sync.Mutex // guards events
	events []event    // the latest, the newest last
}

// event is a recorded change.
type event struct {
	at                time.Time
	change, key, text string
}

// Record implements View. It does not draw, so a burst of changes costs one frame.
func (s *screen) Record(change, key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events[max(0, len(s.events)+1-maxEvents):], event{time.Now(), change, key, text})
}

// Run implements View. It restores the terminal at the end.
func (s *screen) Run(done <-chan struct{}, state func() State) {
	fmt.Fprint(s.out, enterScreen)
	defer fmt.Fprint(s.out, leaveScreen)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		fmt.Fprint(s.out, cursorHome, s.text(state(), clearLine+"\r\n"), clearBelow)
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// Finish implements View. The last frame stays on the normal screen.
func (s *screen) Finish(last State) {
	fmt.Fprintln(s.out, s.text(last, "\n"))
}

// text returns a frame with its styles.
func (s *screen) text(state State, separator string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	width, height := s.size()
	var texts []string
	for _, l := range frame(s.title, state, s.events, time.Now(), width, height-1) {
		texts = append(texts, "\x1b["+string(l.style)+"m"+l.text+"\x1b[0m")
	}
	return strings.Join(texts, separator)
}
