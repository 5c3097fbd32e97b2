// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminaltest helps tests of programs that show a view.
package terminaltest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// timeout is the maximum time that a test waits for output.
const timeout = 20 * time.Second

// Output is a writer whose text a test can wait for. It is safe for concurrent use.
type Output struct {
	mu      sync.Mutex // guards the fields below
	text    strings.Builder
	changed chan struct{} // closed at the next write
}

// NewOutput returns an empty output.
func NewOutput() *Output { return &Output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

// String returns the text written.
func (o *Output) String() string {
	text, _ := o.state()
	return text
}

// Take returns the text written since the last call.
func (o *Output) Take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.String()
	o.text.Reset()
	return text
}

// state returns the text and a channel that is closed when it changes.
func (o *Output) state() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

// WaitFor waits until the condition is true of the written text.
func (o *Output) WaitFor(t testing.TB, condition func(text string) bool) {
	t.Helper()
	deadline := time.After(timeout)
	for {
		text, changed := o.state()
		if condition(text) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("timed out waiting for output, got:\n%s", text)
		}
	}
}

// WaitForText waits until a text is written.
func (o *Output) WaitForText(t testing.TB, want string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("want %q", want)
		}
	}()
	o.WaitFor(t, func(text string) bool { return strings.Contains(text, want) })
}
