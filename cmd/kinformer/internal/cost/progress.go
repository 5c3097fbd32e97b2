// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// progress shows on stderr what the command does: on a terminal in one line that is rewritten,
// otherwise in a line every few seconds.
type progress struct {
	out      io.Writer
	terminal bool
	last     time.Time
	open     bool // a line is to be rewritten
}

const (
	linePeriod   = 5 * time.Second
	redrawPeriod = 100 * time.Millisecond
)

func newProgress(out io.Writer) *progress {
	file, ok := out.(interface{ Fd() uintptr })
	return &progress{out: out, terminal: ok && term.IsTerminal(int(file.Fd())), last: time.Now()}
}

// update shows a state, unless the last one was shown a short time ago.
func (p *progress) update(subject, format string, args ...any) {
	period := linePeriod
	if p.terminal {
		period = redrawPeriod
	}
	if time.Since(p.last) >= period {
		p.show(subject, format, args...)
	}
}

// begin shows a state that is going to last. Without a terminal it is as any other.
func (p *progress) begin(subject, format string, args ...any) {
	if p.terminal {
		p.show(subject, format, args...)
	} else {
		p.update(subject, format, args...)
	}
}

func (p *progress) show(subject, format string, args ...any) {
	p.last = time.Now()
	text := command.Sanitize(subject + ": " + fmt.Sprintf(format, args...))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%.*s", lineWidth-1, text) // a longer line could not be rewritten
		p.open = true
		return
	}
	fmt.Fprintln(p.out, text)
}

// print prints a line that stays.
func (p *progress) print(subject, format string, args ...any) {
	p.clear()
	p.last = time.Now()
	fmt.Fprintln(p.out, command.Sanitize(subject+": "+fmt.Sprintf(format, args...)))
}

// clear removes the line that is rewritten.
func (p *progress) clear() {
	if p.open {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.open = false
}
