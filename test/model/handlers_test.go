// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/cache"
)

func (x *execution) addHandler(spec handlerSpec) {
	r := newRecorder(x, len(x.handlers), spec)
	x.meet("handler " + spec.Kind)
	x.meet("pace " + spec.Pace)
	added, err := x.subject.add(r)
	refused := x.stopped || x.running && x.canceled
	if (err != nil) != refused && !x.mayHaveEnded() {
		x.fail("handler", "handler added, stopped %v: %v", x.stopped, err)
	}
	if err == nil {
		r.registration = added
		x.handlers = append(x.handlers, r)
	}
}

// removeHandler removes a handler. None of its calls begins afterwards.
func (x *execution) removeHandler(n int) {
	if n >= len(x.handlers) {
		return
	}
	r := x.handlers[n]
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := r.remove(ctx)
	if err != nil && !errors.Is(err, cache.ErrHandlerBlocked) {
		x.fail("handler", "%s removed: %v", r.name, err)
	}
	if err != nil || x.program.Options.Adapter {
		synctest.Wait() // a call may have begun before
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = true
}

// floodKeys is the number of objects that a flood creates and deletes once more.
const floodKeys = 7

// flood changes all objects in turn, n times in all. It deletes and recreates some of them. Every
// now and then it waits, since watches have a buffer.
func (x *execution) flood(n int) {
	if x.server.availability.gone {
		return
	}
	synctest.Wait()
	began := make(map[*recorder]flooded)
	for _, r := range x.handlers {
		if r.isBlocked() && r.spec.coalesces(x.program.Options) {
			began[r] = flooded{writes: x.server.world.writes, events: r.events}
		}
	}
	for i := range n {
		x.server.change(func(w *world) {
			if i%max(1, n/floodKeys) == 0 {
				w.remove(keys[i%len(keys)], 1)
			}
			w.put(keys[i%len(keys)], "", 1)
		})
		if i%500 == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	version := parseVersion(x.subject.view().version)
	for r, f := range began {
		if f.writes = x.server.world.writes - f.writes; version == x.server.world.present().head && f.writes > floodThreshold {
			f.after = x.server.world.writes
			r.flooded = &f
			x.meet("flood of a blocked handler")
		}
	}
}

// flooded is what a handler missed while it blocked.
type flooded struct {
	events int // delivered before
	writes int // during the flood
	after  int // the number of writes after it
}

// floodThreshold is the number of events above which a backlog is coalesced, with the most that
// come between two compactions of the backlog. maxFlooded is how many may then be delivered, of
// each object two.
const (
	floodThreshold = 10_000 + 10_000/8
	maxFlooded     = 10_000/8 + 64 + 4*5 + 4*floodKeys
)

// checkBacklog checks that a handler has received few events since a flood. The caller holds mu.
func (r *recorder) checkBacklog() {
	if r.flooded == nil {
		return
	}
	r.run.checked("backlog")
	later := r.run.server.world.writes - r.flooded.after
	if got := r.events - r.flooded.events; got > maxFlooded+2*later {
		r.run.fail("backlog", "%s: %d events after %d writes while it blocked", r.name, got, r.flooded.writes)
	}
	r.flooded = nil
}

func (r *recorder) isBlocked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy && r.spec.Pace == paceBlock
}
