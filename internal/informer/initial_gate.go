// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxInitialHold is how long a list that is stored waits for its first watch before handlers
// receive it.
const maxInitialHold = time.Second

// initialGate holds initial lists back from handlers until their first watches are open.
// client-go's fakes do not replay what happens between a list and its watch, so that a handler that
// writes would not receive the change. Its methods are safe for concurrent use.
type initialGate struct {
	clock clock.Clock

	mu     sync.Mutex    // guards the fields below
	held   int           // number of lists that are held back
	until  time.Time     // when the last of them is released at the latest
	opened chan struct{} // closed once held is zero again
}

// hold closes the gate for maxInitialHold, or until the returned function has been called.
func (g *initialGate) hold() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == 0 {
		g.opened = make(chan struct{})
	}
	g.held++
	g.until = g.clock.Now().Add(maxInitialHold)
	return g.release
}

// release opens the gate, unless another list is held back.
func (g *initialGate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held--; g.held == 0 {
		close(g.opened)
	}
}

// wait blocks until the gate is open, maxInitialHold has passed since it was closed, or ctx ends.
func (g *initialGate) wait(ctx context.Context) {
	g.mu.Lock()
	closed, opened, rest := g.held > 0, g.opened, g.until.Sub(g.clock.Now())
	g.mu.Unlock()
	if !closed || rest <= 0 {
		return
	}
	timer := g.clock.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-opened:
	case <-timer.C():
	case <-ctx.Done():
	}
}
