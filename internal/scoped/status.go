// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"slices"
	"time"

	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// ScopeStatus describes one scope.
type ScopeStatus struct {
	Scope scope.Scope
	store.ScopeState
	Reflector  reflector.Status // of the reflector that feeds the scope, and perhaps others
	Sharded    bool             // the last list stated that it has the requested ranges alone
	OutOfScope uint64           // items of the current streams outside of the namespace or the ranges
}

// ScopeStatus returns the condition of each scope, in the order in which they were added.
func (l *Loop) ScopeStatus() []ScopeStatus {
	statuses := []ScopeStatus{}
	for _, held := range l.all() {
		statuses = append(statuses, l.statusOf(held))
	}
	return statuses
}

// objects returns the number of objects of each scope that has been listed.
func (l *Loop) objects() map[scope.Scope]int {
	objects := make(map[scope.Scope]int)
	for _, held := range l.all() {
		if IsClosed(held.synced) {
			objects[held.name] = l.store.ScopeSize(held.part)
		}
	}
	return objects
}

// StatusOfScope returns the condition of one scope, if the loop holds it.
func (l *Loop) StatusOfScope(name scope.Scope) (status ScopeStatus, held bool) {
	if found := l.find(name); found != nil {
		return l.statusOf(found), true
	}
	return status, false
}

// statusOf returns the condition of a scope: of its objects, and of the stream that feeds it.
func (l *Loop) statusOf(held *heldScope) ScopeStatus {
	status := ScopeStatus{Scope: held.name, ScopeState: l.store.ScopeState(held.part)}
	stream := l.streamOf(held)
	l.mu.Lock()
	freshAt := held.freshAt
	status.Reflector.Phase = reflector.Listing // a stream is about to start
	if l.phase == reflector.Stopped {
		status.Reflector.Phase = reflector.Stopped
	}
	l.mu.Unlock()
	if stream != nil {
		status.Reflector = stream.reflector.Status()
		status.Sharded, status.OutOfScope = stream.sharded.Load(), stream.feed.OutOfScope()
	}
	status.Reflector.FreshAt = latest(freshAt, status.Reflector.FreshAt)
	status.Reflector.ResourceVersion = status.ResourceVersion
	return status
}

// Status returns the condition of all streams, those that have ended included. The store is as
// fresh as its oldest scope. One that has not been listed yet is as old as the time for which it
// has been held.
func (l *Loop) Status() reflector.Status {
	since, incomplete := l.config.Set.Incomplete()
	l.mu.Lock()
	defer l.mu.Unlock()
	status := reflector.Status{Phase: l.phase, ResourceVersion: l.store.ResourceVersion(), Requests: l.requests}
	if l.phase != reflector.Idle && l.phase != reflector.Stopped {
		status.FreshAt = l.clock.Now() // if there are no scopes
		status.Phase = reflector.Watching
	}
	if incomplete != nil && l.phase != reflector.Idle {
		status.Phase, status.FreshAt = l.phase, time.Time{}
		status.Err, status.ErrSince = incomplete, since
	}
	fresh := make(map[*heldScope]time.Time)
	for _, stream := range l.streams {
		now := stream.reflector.Status()
		switch {
		case l.phase == reflector.Stopped:
			now.Phase = reflector.Stopped
		case stream.state.Load() != owning: // its failure is none
			now.Phase = reflector.Watching
		case now.Phase == reflector.Idle: // it has just been started
			now.Phase = reflector.Listing
		}
		status = status.Add(now)
		for _, held := range stream.held {
			fresh[held] = latest(fresh[held], now.FreshAt)
		}
	}
	for _, held := range l.order {
		if at := latest(fresh[held], held.freshAt); at.Before(status.FreshAt) {
			status.FreshAt = at
		}
	}
	return status
}

// LacksScopes reports whether the loop holds scopes of which none has been listed.
func (l *Loop) LacksScopes() bool {
	all := l.all()
	return len(all) > 0 && !slices.ContainsFunc(all, func(held *heldScope) bool { return IsClosed(held.synced) })
}

// Phase returns the phase of the Status.
func (l *Loop) Phase() reflector.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase
}

// Synced returns a channel that is closed once the scopes of the start have been listed.
func (l *Loop) Synced() <-chan struct{} { return l.synced }

// LastSyncResourceVersion returns the version that every scope has reached.
func (l *Loop) LastSyncResourceVersion() string { return l.store.ResourceVersion() }
