package tap

import (
	"bytes"
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
	if guard == nil {
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

// check returns the request to send, or the error of a guard. It reads the body of an update if
// there are guards.
func (g *guards) check(request *http.Request) (*http.Request, error) {
	if request.Method != http.MethodPut || request.Body == nil {
		return request, nil
	}
	active := g.current()
	if len(active) == 0 {
		return request, nil
	}
	body, err := io.ReadAll(request.Body)
	if closeErr := request.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	for _, guard := range active {
		if err := guard.Check(request, body); err != nil {
			return nil, err
		}
	}
	request = request.WithContext(request.Context()) // a copy: a transport must not change the request
	request.Body = io.NopCloser(bytes.NewReader(body))
	return request, nil
}
