// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// The variants of a recorder.
const (
	variantEvents     = iota
	variantEveryEvent // never coalesced
	variantBatches
	variantWithoutOld
	variantKeys
	variants
)

// recorder is a handler that records its events, and may be blocked.
type recorder struct {
	handler atomic.Pointer[Handler]
	variant int
	from    int                     // number of the model's changes before the handler was added
	initial map[string]*modelObject // the objects at that time
	gate    atomic.Pointer[chan struct{}]

	mu          sync.Mutex // guards the fields below
	events      []Event
	keys        []string
	syncedEarly bool // before its initial events were delivered
}

// wait waits while the recorder is blocked.
func (rec *recorder) wait() {
	if gate := rec.gate.Load(); gate != nil {
		<-*gate
	}
}

func (rec *recorder) block() {
	gate := make(chan struct{})
	rec.gate.CompareAndSwap(nil, &gate)
}

func (rec *recorder) resume() {
	if gate := rec.gate.Swap(nil); gate != nil {
		close(*gate)
	}
}

// config returns the handler configuration of the recorder's variant.
func (rec *recorder) config(name string) HandlerConfig {
	config := HandlerConfig{Name: name}
	record := func(events ...Event) {
		rec.mu.Lock()
		rec.events = append(rec.events, events...)
		if h := rec.handler.Load(); h != nil && events[0].InInitialList && h.HasSynced() {
			rec.syncedEarly = true
		}
		rec.mu.Unlock()
		rec.wait()
	}
	config.OnEvent = func(e Event) { record(e) }
	switch rec.variant {
	case variantEveryEvent:
		config.EveryEvent = true
	case variantBatches:
		config.OnEvent = nil
		config.OnBatch = func(events []Event) { record(events...) }
	case variantWithoutOld:
		config.WithoutOld = true
	case variantKeys:
		config.OnEvent = nil
		config.OnKey = func(event KeyEvent) {
			rec.mu.Lock()
			rec.keys = append(rec.keys, event.Key)
			rec.mu.Unlock()
			rec.wait()
		}
	}
	return config
}

func (r *modelRun) problem(rec *recorder, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("%s: %s", rec.handler.Load().config.Name, fmt.Sprintf(format, args...)))
}

// stateOf returns a state of an event, nil if the event has none.
func stateOf(value any) *modelObject {
	state, _ := value.(*modelObject)
	return state
}

// check compares the events of a handler with the model's changes. They are complete unless the
// handler was stopped.
func (r *modelRun) check(rec *recorder, complete bool) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.variant == variantKeys {
		r.checkKeys(rec, complete)
		return
	}
	changes := make(map[string][]modelChange) // not yet delivered
	for _, c := range r.model.changes[rec.from:] {
		changes[c.key()] = append(changes[c.key()], c)
	}
	last := make(map[string]*modelObject)
	for _, e := range rec.events {
		if e.InInitialList && rec.initial[e.Key] != nil {
			if e.Type != Add || last[e.Key] != nil || stateOf(e.New).String() != rec.initial[e.Key].String() {
				r.problem(rec, "initial %v of %v, want an Add of %v", e.Type, e.New, rec.initial[e.Key])
			}
			last[e.Key] = stateOf(e.New)
			delete(rec.initial, e.Key)
			continue
		}
		n := 1 + e.Coalesced
		if n > len(changes[e.Key]) || n > 1 && rec.variant == variantEveryEvent {
			r.problem(rec, "an event for %d changes of %s, of which there are %d", n, e.Key, len(changes[e.Key]))
			return
		}
		r.checkEvent(rec, e, changes[e.Key][:n], last[e.Key])
		changes[e.Key] = changes[e.Key][n:]
		last[e.Key] = stateOf(e.New)
	}
	if rec.syncedEarly {
		r.problem(rec, "synced before its initial events were delivered")
	}
	if complete {
		r.checkComplete(rec, changes)
	}
}

// checkComplete requires that no change and no initial object is undelivered.
func (r *modelRun) checkComplete(rec *recorder, undelivered map[string][]modelChange) {
	for key, changes := range undelivered {
		if len(changes) > 0 {
			r.problem(rec, "%d changes of %s are undelivered", len(changes), key)
		}
	}
	if len(rec.initial) > 0 {
		r.problem(rec, "initial objects are undelivered: %v", rec.initial)
	}
	if !rec.handler.Load().HasSynced() || rec.handler.Load().Status().Backlog != 0 {
		r.problem(rec, "at the end: %+v", rec.handler.Load().Status())
	}
}

// checkEvent requires that an event stands for these changes, and that they may be coalesced. last
// is the state that the handler received last.
func (r *modelRun) checkEvent(rec *recorder, e Event, changes []modelChange, last *modelObject) {
	first, latest := changes[0], changes[len(changes)-1]
	for i, c := range changes[1:] {
		before := changes[i]
		switch {
		case before.new == nil && c.unstored && c.old.uid == before.old.uid:
		case before.new == nil:
			r.problem(rec, "%s: a deletion coalesced with a later change", e.Key)
		case first.old == nil && c.new == nil:
			r.problem(rec, "%s: an addition coalesced with its deletion", e.Key)
		case first.old == nil && c.new.terminating && !before.new.terminating:
			r.problem(rec, "%s: an addition coalesced with the update that sets deletionTimestamp", e.Key)
		}
	}
	want := Update
	switch {
	case latest.new == nil:
		want = Delete
	case first.old == nil:
		want = Add
	}
	old := last
	if first.unstored { // it was not delivered before
		old = first.old
	}
	final := latest.final
	if final == nil {
		final = latest.old
	}
	switch {
	case e.InInitialList != first.initial:
		r.problem(rec, "%s: InInitialList = %v, want %v", e.Key, e.InInitialList, first.initial)
	case e.Type != want:
		r.problem(rec, "%s: Type = %v, want %v", e.Key, e.Type, want)
	case stateOf(e.New).String() != latest.new.String():
		r.problem(rec, "%s: New = %v, want %v", e.Key, e.New, latest.new)
	case want == Delete && stateOf(e.Final).String() != final.String():
		r.problem(rec, "%s: Final = %v, want %v", e.Key, e.Final, final)
	case want == Update && rec.variant == variantWithoutOld && e.Old != nil:
		r.problem(rec, "%s: Old = %v despite WithoutOld", e.Key, e.Old)
	case want != Add && rec.variant != variantWithoutOld && (stateOf(e.Old) != last && !first.unstored || stateOf(e.Old).String() != old.String()):
		r.problem(rec, "%s: Old = %v, want %v", e.Key, e.Old, old)
	}
}

// checkKeys requires that each changed key was delivered at least once, and not more often than it
// was changed.
func (r *modelRun) checkKeys(rec *recorder, complete bool) {
	calls := make(map[string]int)
	for _, key := range rec.keys {
		calls[key]++
	}
	most := make(map[string]int)
	for key := range rec.initial {
		most[key]++
	}
	for _, c := range r.model.changes[rec.from:] {
		most[c.key()]++
	}
	for key, n := range most {
		if calls[key] > n || complete && calls[key] == 0 {
			r.problem(rec, "%d calls for %d changes of %s", calls[key], n, key)
		}
	}
}
