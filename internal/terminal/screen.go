// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// Terminal control sequences.
const (
	enterScreen      = "\x1b[?1049h\x1b[?25l\x1b[2J" // alternate screen, no cursor, clear
	leaveScreen      = "\x1b[?25h\x1b[?1049l"        // cursor, normal screen
	cursorHome       = "\x1b[H"
	clearRestOfLine  = "\x1b[K"
	clearRestOfFrame = "\x1b[J"
	resetStyle       = "\x1b[0m"
)

// redrawInterval is the time between two frames.
const redrawInterval = 250 * time.Millisecond

// screenView is a live table on a terminal.
type screenView struct {
	eventCounter
	eventRecorder
	out       io.Writer
	size      func() (width, height int)
	colours   bool
	lastFrame []Line
	lastSize  [2]int
}

func newScreenView(out io.Writer, size func() (width, height int)) *screenView {
	return &screenView{out: out, size: size, colours: os.Getenv("NO_COLOR") == ""}
}

// screenSize returns a function that returns the terminal's current size. It returns false if the
// writer is not a terminal on which frames can be drawn.
func screenSize(out io.Writer) (size func() (width, height int), ok bool) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil, false
	}
	return func() (int, int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}, true
}

// Record records an event. It does not draw, so the rate of frames does not depend on the rate of
// events.
func (v *screenView) Record(event Event) {
	v.eventCounter.Record(event)
	v.eventRecorder.Record(event)
}

// run draws until ctx ends, and then restores the terminal.
func (v *screenView) run(ctx context.Context, shown Shown) error {
	ticker := time.NewTicker(redrawInterval)
	defer ticker.Stop()
	return v.loop(ctx, shown, ticker.C)
}

// loop draws a frame immediately and at each tick.
func (v *screenView) loop(ctx context.Context, shown Shown, ticks <-chan time.Time) error {
	if err := v.write(enterScreen); err != nil {
		return err
	}
	now := time.Now()
	began := now
	for ctx.Err() == nil {
		s := shown.state(v.counts(), now)
		s.began = began
		if err := v.draw(s); err != nil {
			return err
		}
		select {
		case now = <-ticks:
		case <-ctx.Done():
		}
	}
	return v.write(leaveScreen)
}

// draw draws a frame over the last one. It writes nothing if neither the frame nor the terminal's
// size has changed.
func (v *screenView) draw(s State) error {
	width, height := v.size()
	frame, size := s.frame(v.recent(), width, height), [2]int{width, height}
	if size == v.lastSize && slices.Equal(frame, v.lastFrame) {
		return nil
	}
	v.lastFrame, v.lastSize = frame, size
	var text strings.Builder
	text.WriteString(cursorHome)
	for i, line := range frame {
		if i > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString(v.styled(line) + clearRestOfLine)
	}
	return v.write(text.String() + clearRestOfFrame)
}

// finish prints the final frame to the normal screen.
func (v *screenView) finish(shown Shown) error {
	width, height := v.size()
	frame := shown.state(v.counts(), time.Now()).frame(nil, width, height-1)
	var text strings.Builder
	for _, line := range frame {
		if line.Text != "" {
			text.WriteString(strings.TrimRight(v.styled(line), " ") + "\n")
		}
	}
	return v.write(text.String())
}

// styled returns a line's text with the control sequences of its style.
func (v *screenView) styled(l Line) string {
	if !v.colours || l.Style == "" || l.Text == "" {
		return l.Text
	}
	return "\x1b[" + string(l.Style) + "m" + l.Text + resetStyle
}

func (v *screenView) write(text string) error {
	if _, err := io.WriteString(v.out, text); err != nil {
		return fmt.Errorf("draw screen: %w", err)
	}
	return nil
}
