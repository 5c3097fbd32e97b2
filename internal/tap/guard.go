// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"io"
	"net/http"
	"sync"
)

// Guard refuses updates that would lose data.
type Guard struct {
	// Active reports whether updates are checked. A guard that is no longer active is forgotten.
	Active func() bool
	// Check returns an error for a PUT request that must not be sent.
	Check func(request *http.Request, body []byte) error
}

// guards are the guards of the taps that have passed through some transports.
type guards struct {
	mu     sync.Mutex
	active map[*Guard]struct{}
}

// add adds a guard, unless it is nil or has been added before.
func (g *guards) add(guard *Guard) {
	if g == nil || guard == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetInactive()
	if g.active == nil {
		g.active = make(map[*Guard]struct{})
	}
	g.active[guard] = struct{}{}
}

func (g *guards) forgetInactive() {
	for guard := range g.active {
		if !guard.Active() {
			delete(g.active, guard)
		}
	}
}

// current returns the active guards.
func (g *guards) current() (active []*Guard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetInactive()
	for guard := range g.active {
		active = append(active, guard)
	}
	return active
}

// check returns the error of a guard that refuses a request. It reads a copy of the body, which
// only requests have whose body is in memory, as those of client-go.
func (g *guards) check(request *http.Request) error {
	if g == nil || request.Method != http.MethodPut || request.GetBody == nil {
		return nil
	}
	active := g.current()
	if len(active) == 0 {
		return nil
	}
	body, err := copyBody(request)
	if err != nil {
		return err
	}
	for _, guard := range active {
		if err := guard.Check(request, body); err != nil {
			return err
		}
	}
	return nil
}

func copyBody(request *http.Request) ([]byte, error) {
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
