// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"sync"
)

// Probes shares the probes of reflectors of one resource that start at about the same time. A probe
// serves all reflectors that had started before it was sent. Those that start while it is under way
// share the next one:
//
//	time ────────────────────────────────▶
//	a ├─ probe ─┤
//	 b  waits   ├─ probe ─┤
//	  c waits             ┤  shares b's
//
// Only a success is shared: if the probe fails, each of the others sends its own. The zero value is
// ready to use. A nil *Probes shares nothing. Probes is safe for concurrent use.
type Probes struct {
	mu            sync.Mutex   // guards the fields below
	running, next *sharedProbe // next is nil if nobody waits, as is running then
	ignoresLimit  bool         // see startAnswer
}

// probeFunc sends a probe.
type probeFunc func(ctx context.Context) (startAnswer, error)

// sharedProbe is a probe that one reflector sends.
type sharedProbe struct {
	after  *sharedProbe // is under way; nil if none is
	done   chan struct{}
	answer startAnswer // set before done is closed; zero if the probe failed
}

// do returns the answer of a probe that is sent after the call of do.
func (p *Probes) do(ctx context.Context, send probeFunc) (startAnswer, error) {
	if p == nil {
		return send(ctx)
	}
	probe, sends, ignoresLimit := p.join()
	switch {
	case ignoresLimit:
		return startAnswer{ignoresLimit: true}, nil
	case sends:
		return p.send(ctx, probe, send)
	}
	select {
	case <-probe.done:
	case <-ctx.Done():
		return startAnswer{}, ctx.Err()
	}
	if probe.answer == (startAnswer{}) {
		return send(ctx)
	}
	return probe.answer, nil
}

// join returns the next probe that is not sent yet. It reports whether the caller must send it.
func (p *Probes) join() (probe *sharedProbe, sends, ignoresLimit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ignoresLimit:
		return nil, false, true
	case p.next != nil:
		return p.next, false, false
	}
	probe = &sharedProbe{after: p.running, done: make(chan struct{})}
	if p.running == nil {
		p.running = probe
	} else {
		p.next = probe
	}
	return probe, true, false
}

// awaitTurn waits until the probe before has ended. Then, or if ctx ends, no caller joins any more.
func (p *Probes) awaitTurn(ctx context.Context, probe *sharedProbe) (err error) {
	if probe.after == nil {
		return nil
	}
	select {
	case <-probe.after.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, probe.after = nil, nil
	if err == nil {
		p.running = probe
	}
	return err
}

// send sends a probe once the one before has ended.
func (p *Probes) send(ctx context.Context, probe *sharedProbe, send probeFunc) (startAnswer, error) {
	defer close(probe.done)
	if err := p.awaitTurn(ctx, probe); err != nil {
		return startAnswer{}, err
	}
	answer, err := send(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == probe {
		p.running = nil
	}
	if err == nil {
		probe.answer, p.ignoresLimit = answer, answer.ignoresLimit
	}
	return answer, err
}
