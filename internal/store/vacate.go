// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "context"

// Listed reports whether a scope has ever been listed, and whether one has been since Vacate.
func (s *Store[V]) Listed() (ever, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range s.scopes.held {
		ever = ever || scope.synced
		now = now || scope.synced && !scope.vacated
	}
	return ever, now
}

// Vacate removes every entry, as the server no longer serves the collection. If why is nil, the
// objects are gone. Otherwise they may exist: their deletions have LeftScope, and why is the error of
// reads of one key or of an index until all scopes have been listed again. The deletions are one
// batch of the log. What feeds received before is not stored any more.
//
// It does nothing, and returns false, if ctx has ended, as the server serves the collection again, or if
// a scope has been listed, and confirmed is false: a list proves that the server serves the collection.
func (s *Store[V]) Vacate(ctx context.Context, why error, confirmed bool) bool {
	s.lockCommit()
	defer s.unlockCommit()
	if _, listed := s.Listed(); ctx.Err() != nil || listed && !confirmed {
		return false
	}
	if s.Len() > 0 || !s.quarantine.isEmpty() {
		c := &commit[V]{Store: s, list: s.begin(nil, s.deferReport), exist: why != nil, absence: why}
		c.list.vacates = true
		c.replaceAll()
		c.quarantine.releaseAll() // after it: a reader of a key that was quarantined must find the error
	} else {
		s.withMu(func() { s.beginAbsence(why) })
	}
	s.withMu(s.wakeAll)
	return true
}

// beginAbsence begins the error of reads, unless why is nil, and refuses what feeds received before. It
// precedes the removal of the entries: a reader that finds none must find the error. The caller holds
// both locks.
func (s *Store[V]) beginAbsence(why error) {
	s.vacations++
	for _, scope := range s.scopes.held {
		scope.vacated = true
	}
	s.absence.Store(&absence{why})
	s.current.Store(nil)
}

// Expect makes why the error of reads until all scopes have been listed again, if the objects were gone:
// the server serves the collection again, and may have others.
func (s *Store[V]) Expect(why error) {
	isGone := func(absent *absence) bool { return absent != nil && absent.err == nil }
	if !isGone(s.absence.Load()) {
		return
	}
	s.lockBoth()
	defer s.unlockBoth()
	if isGone(s.absence.Load()) {
		s.absence.Store(&absence{why})
		s.current.Store(nil)
	}
}

// IsVacant reports whether a scope has not been listed since Vacate.
func (s *Store[V]) IsVacant() bool { return s.absence.Load() != nil }

// Absence returns the error of Vacate or Expect, nil if the store shows the collection, or its objects
// are gone.
func (s *Store[V]) Absence() error {
	if absence := s.absence.Load(); absence != nil {
		return absence.err
	}
	return nil
}

// AwaitPresent is Await, unless the objects are not in the store: then it waits for any version, and the
// caller must check again. A caller that waits for a scope then waits for the other scopes as well.
func (s *Store[V]) AwaitPresent(c *Scope, version string) (reached <-chan struct{}, cancel func()) {
	if s.Absence() != nil {
		return s.Await(nil, AnyVersion)
	}
	return s.Await(c, version)
}

// endAbsence ends the error of reads once no scope is left to be listed. The caller holds both locks.
func (s *Store[V]) endAbsence() {
	if s.absence.Load() == nil {
		return
	}
	for _, scope := range s.scopes.held {
		if scope.vacated {
			return
		}
	}
	s.absence.Store(nil)
	s.current.Store(nil)
}

// wakeAll wakes all callers of Await, whatever they wait for. The caller holds mu.
func (s *Store[V]) wakeAll() {
	s.waiters.wakeAll()
	for _, scope := range s.scopes.held {
		scope.waiters.wakeAll()
	}
}
