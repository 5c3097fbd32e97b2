// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxInitialHold is how long a list that is stored waits for its first watch before the informer
// has synced and handlers receive the list.
const maxInitialHold = time.Second

// initialGate holds initial lists back until their first watches are open or have failed: the
// informer has not synced, and handlers do not receive them. client-go's fakes do not replay what
// happens between a list and its watch, so that a program that writes as soon as it sees the list
// would not receive the change. Its methods are safe for concurrent use.
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

// isOpen reports whether no list is held back.
func (g *initialGate) isOpen() bool {
	_, rest := g.state()
	return rest <= 0
}

// state returns the channel that is closed once the gate is open, and how long it may still be
// closed, which is not positive if it is open.
func (g *initialGate) state() (opened <-chan struct{}, rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held > 0 {
		rest = g.until.Sub(g.clock.Now())
	}
	return g.opened, rest
}

// wait blocks until the gate is open, maxInitialHold has passed since it was closed, or ctx ends.
func (g *initialGate) wait(ctx context.Context) {
	opened, rest := g.state()
	if rest <= 0 {
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
