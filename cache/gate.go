package cache

import (
	"errors"
	"sync"
)

// gate lets through what a client's goroutine pushes, one push at a time, until
// the receiver has gone.
type gate struct {
	mu     sync.Mutex // held by each push
	closed bool
}

var errGateClosed = errors.New("nobody waits for this answer any more")

// close waits for a push that is under way. There are none after it.
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
