package cache

import (
	"errors"
	"sync"
)

// gate lets through what a client's goroutine pushes, between open and close:
// nothing comes before the receiver is ready, or after it has gone.
type gate struct {
	mu     sync.Mutex // held by the receiver until open, then by each push
	closed bool
}

var errGateClosed = errors.New("nobody waits for this answer any more")

// newGate returns a gate that makes pushes wait for open.
func newGate() *gate {
	g := &gate{}
	g.mu.Lock()
	return g
}

func (g *gate) open() { g.mu.Unlock() }

// close waits for a push that is under way. A gate must have been opened.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// push runs f, or fails if the gate is closed.
func (g *gate) push(f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errGateClosed
	}
	return f()
}
