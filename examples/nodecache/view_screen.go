package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// What is written to a terminal beside text. Every terminal of today knows these.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J" // a screen of its own, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"        // what was there before
	home        = "\x1b[H"
	endOfLine   = "\x1b[K" // clear what an older frame has there
	endOfScreen = "\x1b[J"
	plainText   = "\x1b[0m"
)

// redrawEvery is the time between two looks at what is to be drawn.
const redrawEvery = 250 * time.Millisecond

// screen is the live table on a terminal.
type screen struct {
	tally
	newsroom
	out     io.Writer
	size    func() (width, height int)
	colours bool
	drawn   []line // the frame that stands there
	drawnAt [2]int // and the terminal's size then
}

func newScreen(out io.Writer, size func() (width, height int)) *screen {
	return &screen{out: out, size: size, colours: os.Getenv("NO_COLOR") == ""}
}

// terminalSize returns a function that asks for the size of the terminal that a
// writer is, if it is one that can be drawn on.
func terminalSize(out io.Writer) (size func() (width, height int), ok bool) {
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

// OnEvent notes an event. The handler never draws: however fast events come, the
// terminal gets four frames a second.
func (s *screen) OnEvent(event cache.Event[*corev1.Node]) {
	s.tally.OnEvent(event)
	s.newsroom.OnEvent(event)
}

// run draws until ctx ends and leaves the terminal as it was.
func (s *screen) run(ctx context.Context, nodes *nodeCache) error {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	return s.play(ctx, nodes, ticker.C)
}

// play draws a frame at once, and one at each tick if it is another.
func (s *screen) play(ctx context.Context, nodes *nodeCache, ticks <-chan time.Time) error {
	if err := s.write(enterScreen); err != nil {
		return err
	}
	now := time.Now()
	for ctx.Err() == nil {
		if err := s.draw(nodes.picture(s.counts(), now)); err != nil {
			return err
		}
		select {
		case now = <-ticks:
		case <-ctx.Done():
		}
	}
	return s.write(leaveScreen)
}

// draw writes the frame of a picture over the one before.
func (s *screen) draw(p picture) error {
	width, height := s.size()
	frame, at := p.frame(s.news(), width, height), [2]int{width, height}
	if at == s.drawnAt && slices.Equal(frame, s.drawn) {
		return nil
	}
	s.drawn, s.drawnAt = frame, at
	var text strings.Builder
	text.WriteString(home)
	for i, line := range frame {
		if i > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString(s.paint(line) + endOfLine)
	}
	return s.write(text.String() + endOfScreen)
}

// finish prints the last frame, so that it stays.
func (s *screen) finish(nodes *nodeCache) error {
	width, height := s.size()
	frame := nodes.picture(s.counts(), time.Now()).frame(news{}, width, height-1)
	var text strings.Builder
	for _, line := range frame {
		if line.text != "" {
			text.WriteString(strings.TrimRight(s.paint(line), " ") + "\n")
		}
	}
	return s.write(text.String())
}

func (s *screen) paint(l line) string {
	if !s.colours || l.style == "" || l.text == "" {
		return l.text
	}
	return "\x1b[" + string(l.style) + "m" + l.text + plainText
}

func (s *screen) write(text string) error {
	if _, err := io.WriteString(s.out, text); err != nil {
		return fmt.Errorf("cannot draw: %w", err)
	}
	return nil
}
