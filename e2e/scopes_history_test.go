// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// expectHistory checks what was delivered against the ledger: each state of an object follows the
// last one, from its creation or the initial list of its scope until its deletion or departure. All
// changes of objects that are always in a scope were delivered. apart says of two objects of one
// name whether two watches may report them.
func (s *scopedSubject) expectHistory(t *testing.T, l *ledger, always selects, apart func(a, b types.UID) bool) {
	t.Helper()
	s.scopes.mu.Lock()
	defer s.scopes.mu.Unlock()
	errs := s.scopes.violations
	l.each(func(key string, history []state) {
		got := s.scopes.states[key]
		history = withoutOvertaken(got, history, apart)
		err := errors.Join(checkSequence(got, history), checkComplete(key, got, history, always))
		if err != nil {
			errs = append(errs, fmt.Sprintf("%s: %v; delivered\n%v, of\n%v", key, err, got, history))
		}
	})
	if len(errs) > 0 {
		t.Errorf("%s: %d errors, the first:\n%s", s.name, len(errs), strings.Join(errs[:min(5, len(errs))], "\n"))
	}
	t.Logf("%s: %d departures", s.name, s.scopes.departures)
}

// withoutOvertaken returns a history without the states that a later object overtook: another
// watch, or the list of an added scope, has reported that object first, which ends the older one.
func withoutOvertaken(got []scopedState, history []state, apart func(a, b types.UID) bool) (rest []state) {
	delivered, listed := make(map[state]bool), make(map[state]bool)
	known := make(map[types.UID]bool)
	for _, s := range got {
		delivered[s.state], known[s.uid] = true, true
		listed[s.state] = listed[s.state] || s.initial
	}
	for i, s := range history {
		isLater := func(next state) bool { return next.uid == s.uid && next.version != gone && delivered[next] }
		overtakes := func(next state) bool {
			return next.uid != s.uid && (listed[next] || delivered[next] && apart(next.uid, s.uid))
		}
		isLast := !slices.ContainsFunc(history[i+1:], isLater) && (s.version != gone || !known[s.uid])
		if delivered[s] || !isLast || !slices.ContainsFunc(history[i+1:], overtakes) {
			rest = append(rest, s)
		}
	}
	return rest
}

func TestWithoutOvertaken(t *testing.T) {
	history := []state{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"a", gone}, {"b", "4"}, {"b", gone}}
	for _, row := range []struct {
		delivered     []int // of the history
		apart, listed bool
		rest          []int
	}{
		{[]int{0, 1, 2, 3, 4, 5}, true, false, []int{0, 1, 2, 3, 4, 5}},
		{[]int{0, 3, 4, 5}, true, false, []int{0, 3, 4, 5}},
		{[]int{0, 3, 4, 5}, false, true, []int{0, 3, 4, 5}},
		{[]int{0, 3, 4, 5}, false, false, []int{0, 1, 2, 3, 4, 5}},
		{[]int{0, 2, 3, 4, 5}, true, true, []int{0, 1, 2, 3, 4, 5}},
		{[]int{0, 1, 2, 4, 5}, true, true, []int{0, 1, 2, 3, 4, 5}},
		{[]int{4, 5}, true, false, []int{4, 5}},
		{[]int{0, 3}, true, true, []int{0, 1, 2, 3, 4, 5}},
	} {
		var got []scopedState
		for _, i := range row.delivered {
			got = append(got, scopedState{state: history[i], initial: row.listed && history[i] == state{"b", "4"}})
		}
		var want []state
		for _, i := range row.rest {
			want = append(want, history[i])
		}
		if rest := withoutOvertaken(got, history, func(_, _ types.UID) bool { return row.apart }); !slices.Equal(rest, want) {
			t.Errorf("delivered %v, apart %v, listed %v: %v", row.delivered, row.apart, row.listed, rest)
		}
	}
}

// checkSequence checks that no state was delivered twice or out of order, and none was left out
// between two others.
func checkSequence(got []scopedState, history []state) error {
	next, last := 0, 0 // in history
	for n, s := range got {
		if s.left {
			next = last // it may be added again in the same state
			continue
		}
		at := slices.Index(history[next:], s.state)
		switch {
		case at < 0:
			return fmt.Errorf("state %d was delivered twice, or out of order, or was never written", n)
		case !s.added && at > 0:
			return fmt.Errorf("%v, before state %d, was not delivered", history[next:next+at], n)
		case s.added && !s.initial && next+at > 0 && history[next+at-1].uid == s.uid:
			return fmt.Errorf("state %d was added with no initial list, and is not the first one of its object", n)
		}
		last, next = next+at, next+at+1
	}
	return nil
}

// checkComplete checks that all states of the objects that are always in a scope were delivered.
func checkComplete(key string, got []scopedState, history []state, always selects) error {
	var delivered, written []state
	for _, s := range got {
		if always(key, s.uid) {
			delivered = append(delivered, s.state)
		}
	}
	for _, s := range history {
		if always(key, s.uid) {
			written = append(written, s)
		}
	}
	if !slices.Equal(delivered, written) {
		return fmt.Errorf("of the objects that are always in a scope, %v was delivered, want %v", delivered, written)
	}
	return nil
}
