// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
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
// Only a usable answer is shared. If there is none, or none within maxProbeWait, each of the others
// sends its own probe. The zero value is ready to use. A nil *Probes shares nothing. Probes is safe
// for concurrent use.
type Probes struct {
	mu            sync.Mutex   // guards the fields below
	running, next *sharedProbe // nil if none is under way, and if no reflector waits to send one
	ignoresLimit  bool         // see startAnswer
}

// maxProbeWait is how long a reflector waits for the probes of others.
const maxProbeWait = 10 * time.Second

// probeFunc sends a probe and returns its answer.
type probeFunc func(ctx context.Context) (startAnswer, error)

// sharedProbe is a probe that one reflector sends.
type sharedProbe struct {
	done   chan struct{}
	answer startAnswer // set before done is closed; zero if there is none to share
}

// do returns the answer of a probe that was sent after the call of do, or that the server ignores
// limit, if that is known.
func (p *Probes) do(ctx context.Context, clock clock.Clock, send probeFunc) (startAnswer, error) {
	if p == nil {
		return send(ctx)
	}
	probe, before, sends := p.join()
	if before != nil {
		if err := before.await(ctx, clock); err != nil && sends {
			p.leave(probe)
			return startAnswer{}, err
		} else if err != nil {
			return startAnswer{}, err
		}
	}
	if sends {
		return p.send(ctx, probe, send)
	}
	if answer := p.answerOf(probe); answer != (startAnswer{}) {
		return answer, nil
	}
	return send(ctx)
}

// join returns a probe that is not sent yet, and the one that the caller must await first: the
// probe itself or, if the caller sends it, the one before, which may be nil.
func (p *Probes) join() (probe, before *sharedProbe, sends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		return p.next, p.next, false
	}
	probe, before = &sharedProbe{done: make(chan struct{})}, p.running
	if before == nil {
		p.running = probe
	} else {
		p.next = probe
	}
	return probe, before, true
}

// await waits for the end of a probe, for maxProbeWait at most. It returns ctx's error.
func (s *sharedProbe) await(ctx context.Context, clock clock.Clock) error {
	timer := clock.NewTimer(maxProbeWait)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// answerOf returns the answer of a probe that was awaited, or zero.
func (p *Probes) answerOf(probe *sharedProbe) startAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(probe.answer, startAnswer{ignoresLimit: p.ignoresLimit})
}

// leave ends a probe that is not sent: no reflector joins it any more.
func (p *Probes) leave(probe *sharedProbe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == probe {
		p.next = nil
	}
	close(probe.done)
}

// send sends a probe, unless the server is known to ignore limit.
func (p *Probes) send(ctx context.Context, probe *sharedProbe, send probeFunc) (answer startAnswer, err error) {
	if p.begin(probe) {
		p.leave(probe)
		return startAnswer{ignoresLimit: true}, nil
	}
	defer func() { p.end(probe, answer, err) }() // also if send panics
	return send(ctx)
}

// begin records that a probe is under way, so that no reflector joins it any more. It reports
// whether the probe is in vain.
func (p *Probes) begin(probe *sharedProbe) (ignoresLimit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ignoresLimit {
		p.running = probe
	}
	if p.next == probe {
		p.next = nil
	}
	return p.ignoresLimit
}

// end shares the answer of a probe.
func (p *Probes) end(probe *sharedProbe, answer startAnswer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == probe {
		p.running = nil
	}
	if err == nil {
		probe.answer = answer
		p.ignoresLimit = p.ignoresLimit || answer.ignoresLimit
	}
	close(probe.done)
}
