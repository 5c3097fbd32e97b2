// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// State is whether a set has a scope and, if not, what happens to the scope's objects.
type State int

// The states of a scope.
const (
	// Held: the scope is in the set.
	Held State = iota
	// Removed: the scope was removed. Its objects leave the store.
	Removed
	// Emptying: the scope was removed because its namespace was deleted. Its objects stay in the
	// store until they are deleted.
	Emptying
	// HeldAgain: the scope was removed, and added again before the subscriber has taken the
	// removal. Its objects leave the store, and are listed again.
	HeldAgain
)

// Set is a set of scopes in which the key and the UID of an object determine its scope: two scopes
// that may hold one key have equal selectors and disjoint ranges of UIDs (checkTogether). Its
// methods are safe for concurrent use. The zero Set is empty.
type Set struct {
	mu            sync.Mutex // guards the fields below
	held          []Scope    // in the order in which they were added; never changed, but appended to
	invalid       error
	complete      <-chan struct{} // closed once the scopes of the start are in the set; nil: they are
	incomplete    Incomplete
	owner         any
	subscriptions map[*Subscription]struct{}
}

// Err returns the error of Fail.
func (s *Set) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.invalid
}

// Fail makes the set invalid, so that informers that have it do not run.
func (s *Set) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalid = errors.Join(s.invalid, err)
}

// Incomplete returns why a set does not have the scopes of the start yet, and since when. The error
// may be nil. It is called while informers report their status, and must not block.
type Incomplete func() (since time.Time, err error)

// CompleteAfter makes informers wait with their sync until a channel is closed. The scopes of the
// start are those that the set has then. Until then, informers report the error of reason, if that
// is not nil.
func (s *Set) CompleteAfter(complete <-chan struct{}, reason Incomplete) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete, s.incomplete = complete, reason
}

// Complete returns the channel of CompleteAfter, nil if there is none.
func (s *Set) Complete() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete
}

// Incomplete returns why the set does not have the scopes of the start yet, and since when: the
// result of the function that was passed to CompleteAfter. It returns nil once the set has them.
func (s *Set) Incomplete() (since time.Time, err error) {
	s.mu.Lock()
	complete, reason := s.complete, s.incomplete
	s.mu.Unlock()
	if reason == nil {
		return time.Time{}, nil
	}
	select {
	case <-complete:
		return time.Time{}, nil
	default:
		return reason()
	}
}

// SetOwner records what keeps the set: a *shard.Member.
func (s *Set) SetOwner(owner any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = owner
}

// Owner returns the value of SetOwner, nil if there is none, or if s is nil.
func (s *Set) Owner() any {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// Objects returns the number of objects that the subscribers hold of each scope, in sum, without
// the scopes that one of them has not listed. It returns nil if no subscriber counts. It calls
// their functions, each in O(scopes).
func (s *Set) Objects() map[Scope]int {
	s.mu.Lock()
	held := s.held
	var counts []func() map[Scope]int
	for subscription := range s.subscriptions {
		if subscription.count != nil {
			counts = append(counts, subscription.count)
		}
	}
	s.mu.Unlock()
	if len(counts) == 0 {
		return nil
	}
	sums := make(map[Scope]int, len(held))
	for _, scope := range held {
		sums[scope] = 0
	}
	for _, count := range counts {
		objects := count()
		for scope := range sums {
			n, listed := objects[scope]
			if !listed {
				delete(sums, scope)
				continue
			}
			sums[scope] += n
		}
	}
	return sums
}

// ErrNotSelected reports an object that an informer does not select.
var ErrNotSelected = errors.New("the informer does not select the object")

// Of returns the only scope that may hold an object, of any UID if uid is empty. Otherwise, and
// while the set does not have the scopes of the start, it returns an error that wraps
// ErrNotSelected.
func (s *Set) Of(namespace, name, uid string) (Scope, error) {
	s.mu.Lock()
	held, complete := s.held, s.complete
	s.mu.Unlock()
	select {
	case <-complete:
	default:
		if complete != nil {
			return Scope{}, fmt.Errorf("%w: its Scopes are not known yet", ErrNotSelected)
		}
	}
	found := -1
	for i, scope := range held {
		switch {
		case !scope.MayHold(namespace, name, uid):
		case found >= 0:
			return Scope{}, fmt.Errorf("%w: without a UID, the scopes of %v and of %v may have the object", ErrNotSelected, held[found], scope)
		default:
			found = i
		}
	}
	if found < 0 {
		return Scope{}, fmt.Errorf("%w: none of its Scopes has the object", ErrNotSelected)
	}
	return held[found], nil
}

// All returns the scopes in the order in which they were added.
func (s *Set) All() []Scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.held)
}

// Has reports whether the set has a scope.
func (s *Set) Has(scope Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.held, scope)
}

// Add adds scopes. It ignores those that the set has. It returns an error, and adds none, if scopes
// are invalid or must not be in one set.
func (s *Set) Add(scopes ...Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := union(s.held, scopes)
	if err == nil {
		added := next[len(s.held):]
		s.held = next
		s.tell(changesTo(Held, added))
	}
	return err
}

// Remove removes scopes and passes their new state to the subscriptions, also for scopes that the
// set no longer has: an informer may still hold one that is Emptying. It returns an error if scopes
// are invalid.
func (s *Set) Remove(state State, scopes ...Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone, err := canonical(scopes)
	if err == nil {
		s.held = slices.DeleteFunc(slices.Clone(s.held), sets.New(gone...).Has)
		s.tell(changesTo(state, gone))
	}
	return err
}

// Replace makes scopes the whole set. Its errors are those of Add.
func (s *Set) Replace(scopes ...Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := union(nil, scopes)
	if err != nil {
		return err
	}
	before, after := sets.New(s.held...), sets.New(next...)
	added := slices.DeleteFunc(slices.Clone(next), before.Has)
	gone := slices.DeleteFunc(slices.Clone(s.held), after.Has)
	s.held = next
	s.tell(append(changesTo(Removed, gone), changesTo(Held, added)...))
	return nil
}

func changesTo(state State, scopes []Scope) []Change {
	changes := make([]Change, 0, len(scopes))
	for _, scope := range scopes {
		changes = append(changes, Change{scope, state})
	}
	return changes
}

// tell passes changes to the subscriptions.
func (s *Set) tell(changes []Change) {
	for subscription := range s.subscriptions {
		subscription.add(changes)
	}
}

// canonical returns the canonical forms of scopes, or the errors of those that are invalid.
func canonical(scopes []Scope) ([]Scope, error) {
	result, errs := make([]Scope, 0, len(scopes)), []error(nil)
	for _, scope := range scopes {
		c, err := scope.Canonical()
		if err != nil {
			errs = append(errs, fmt.Errorf("scope of %v: %w", scope, err))
		}
		result = append(result, c)
	}
	return result, errors.Join(errs...)
}

// union returns the scopes of held, and those of more that are not among them, with the array of
// held. It returns an error if scopes are invalid or must not be in one set.
func union(held, more []Scope) ([]Scope, error) {
	more, err := canonical(more)
	if err != nil {
		return nil, err
	}
	all := held
	for _, scope := range more {
		if slices.Contains(all, scope) {
			continue
		}
		for _, other := range all {
			if err := scope.checkTogether(other); err != nil {
				return nil, fmt.Errorf("the scopes of %v and of %v %w", other, scope, err)
			}
		}
		all = append(all, scope)
	}
	return all, nil
}

// Subscription collects the changes of a set for one subscriber.
type Subscription struct {
	set   *Set
	ready chan struct{}        // of capacity 1
	count func() map[Scope]int // guarded by set.mu; see Count

	mu      sync.Mutex // guards the fields below
	changes map[Scope]State
	order   []Scope // the keys of changes, in the order of their first changes
}

// Change is the new state of a scope.
type Change struct {
	Scope Scope
	State State
}

// Subscribe returns a subscription. Its first changes are the scopes that the set has. The caller
// must close it.
func (s *Set) Subscribe() *Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	subscription := &Subscription{set: s, ready: make(chan struct{}, 1), changes: make(map[Scope]State)}
	if s.subscriptions == nil {
		s.subscriptions = make(map[*Subscription]struct{})
	}
	s.subscriptions[subscription] = struct{}{}
	subscription.add(changesTo(Held, s.held))
	return subscription
}

// Ready returns a channel that receives a value when there are changes to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns the last change of each scope since the previous call.
func (s *Subscription) Take() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := make([]Change, 0, len(s.order))
	for _, scope := range s.order {
		changes = append(changes, Change{scope, s.changes[scope]})
	}
	s.changes, s.order = make(map[Scope]State), nil // a cleared map would keep its size
	return changes
}

func (s *Subscription) add(changes []Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range changes {
		before, changed := s.changes[change.Scope]
		if !changed {
			s.order = append(s.order, change.Scope)
		}
		if before == Removed && change.State == Held {
			change.State = HeldAgain
		}
		s.changes[change.Scope] = change.State
	}
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Count makes Set.Objects include the objects of the subscriber. count returns how many it holds of
// each scope that it has listed; it must not use the set.
func (s *Subscription) Count(count func() map[Scope]int) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.count = count
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	delete(s.set.subscriptions, s)
}
