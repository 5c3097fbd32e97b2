// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"sync"
	"testing"
)

// ledger is the history of a collection, as recorded by its writer.
type ledger struct {
	mu     sync.Mutex
	states map[string][]state
}

func newLedger() *ledger { return &ledger{states: map[string][]state{}} }

func (l *ledger) add(key string, s state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[key] = append(l.states[key], s)
}

func (l *ledger) size() (objects, changes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, states := range l.states {
		changes += len(states)
	}
	return len(l.states), changes
}

// each calls see with the history of each key.
func (l *ledger) each(see func(key string, history []state)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, states := range l.states {
		see(key, states)
	}
}

// expectEveryChange checks that each change of an object since the first recorded one was
// delivered, in order and once.
func expectEveryChange(t *testing.T, r *recorder, l *ledger) {
	t.Helper()
	wrong := 0
	l.each(func(key string, history []state) {
		got := r.history(key)
		if len(got) > 0 {
			history = history[max(0, slices.Index(history, got[0])):]
		} else if history[len(history)-1].version == gone {
			return // deleted before the recording began
		}
		if !slices.Equal(got, history) {
			if wrong++; wrong <= 3 {
				t.Errorf("%s: delivered\n%v, want\n%v", key, got, history)
			}
		}
	})
	if wrong > 3 {
		t.Errorf("%d objects differ", wrong)
	}
}

// expectEveryChangeFromStart is expectEveryChange for a recording that began before the first
// change.
func expectEveryChangeFromStart(t *testing.T, r *recorder, l *ledger) {
	t.Helper()
	l.each(func(key string, history []state) {
		if got := r.history(key); !slices.Equal(got, history) {
			t.Errorf("%s: delivered\n%v, want\n%v", key, got, history)
		}
	})
}

// expectSubsequence checks that the delivered states are a subsequence of the object's history. A
// relist may skip states.
func expectSubsequence(t *testing.T, r *recorder, l *ledger) {
	t.Helper()
	l.each(func(key string, history []state) {
		got, rest := r.history(key), history
		for i, s := range got {
			at := slices.Index(rest, s)
			if at < 0 {
				t.Errorf("%s: delivered\n%v, of which state %d is out of order in\n%v", key, got, i, history)
				return
			}
			rest = rest[at+1:]
		}
	})
}

// current returns the last state of each object that exists.
func (l *ledger) current() map[string]state {
	current := map[string]state{}
	l.each(func(key string, history []state) {
		if last := history[len(history)-1]; last.version != gone {
			current[key] = last
		}
	})
	return current
}
