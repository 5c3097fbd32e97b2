// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"sync"
)

// gate passes on what a client's goroutine pushes, one push at a time, until the request's caller
// closes it.
type gate struct {
	mu     sync.Mutex // held during each push
	closed bool
}

var errGateClosed = errors.New("the request was given up")

// close waits for a running push. No push succeeds afterwards.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// push calls f, or fails if the gate is closed.
func (g *gate) push(f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errGateClosed
	}
	return f()
}
