// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kinformer/kinformer/internal/feed"
)

// Phase is what a reflector is doing.
type Phase string

// The phases of a reflector.
const (
	Idle     Phase = "Idle"     // Run has not been called
	Listing  Phase = "Listing"  // a list or WatchList is in progress
	Watching Phase = "Watching" // a watch is open
	Resuming Phase = "Resuming" // the last request succeeded, and the next watch follows
	Retrying Phase = "Retrying" // the last attempt failed; the sink holds the last good state
	Stopped  Phase = "Stopped"  // Run has returned

	NotServed Phase = "NotServed" // the server does not serve the collection, and receives no requests
)

// Status describes a reflector at one moment.
type Status struct {
	Phase           Phase
	Err             error     // of the last attempt; nil if it succeeded
	ErrSince        time.Time // when the first of the failed attempts in a row failed
	FailedAttempts  int       // number of failed attempts in a row
	ResourceVersion string    // of the collection, as the sink holds it
	FreshAt         time.Time // when the sink was last known to be current: by an event, bookmark or list
	Requests        feed.RequestStatus
}

// Add returns the condition of two reflectors: the more severe phase with its error, and the sum of
// what they have requested. ResourceVersion and FreshAt, which depend on what each of them has of
// the collection, remain those of s.
func (s Status) Add(other Status) Status {
	sum := s
	if other.Phase.severity() > s.Phase.severity() {
		sum = other
	}
	sum.ResourceVersion, sum.FreshAt = s.ResourceVersion, s.FreshAt
	sum.Requests = s.Requests.Add(other.Requests)
	return sum
}

// severity orders the phases of the reflectors of one informer, which has the most severe one.
func (p Phase) severity() int {
	return slices.Index([]Phase{Resuming, Listing, Retrying, NotServed}, p)
}

// status is the Status of a Reflector.
type status struct {
	changed func() // Config.Changed; called without mu

	mu            sync.Mutex // guards the fields below; held for a few assignments only
	now           Status
	lastConfirmed time.Time // when the server last proved to be no older than now.ResourceVersion
	rate          eventRate
}

// failureRow is a number of failed attempts without a success in between.
type failureRow struct {
	since    time.Time // when the first one failed
	attempts int
}

// Status returns the reflector's condition.
func (r *Reflector) Status() Status {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	now := r.status.now
	now.Requests.Relists = maps.Clone(now.Requests.Relists)
	now.Requests.Received = int(r.lists.received.Load())
	now.Requests.RecentEvents = r.status.rate.recent(r.clock.Now())
	return now
}

// Phase returns the phase of the Status.
func (r *Reflector) Phase() Phase {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	return r.status.now.Phase
}

// LastSyncResourceVersion returns the resourceVersion of the collection as the sink holds it. It is
// empty before the first list.
func (r *Reflector) LastSyncResourceVersion() string { return r.version() }

func (r *Reflector) version() string {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	return r.status.now.ResourceVersion
}

// listing enters the phase Listing, unless the list is a retry.
func (s *status) listing() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Err == nil {
		s.now.Phase = Listing
	}
}

// update makes a change of the Status that needs no method of its own.
func (s *status) update(change func(now *Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.now)
}

func (s *status) countRelist(reason RelistReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Requests.Relists == nil {
		s.now.Requests.Relists = make(map[string]uint64)
	}
	s.now.Requests.Relists[string(reason)]++
}

// applied is advance for an event of a watch.
func (s *status) applied(resourceVersion string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.add(at, 1)
	s.setFresh(resourceVersion, at)
}

// advance sets the resourceVersion reached, unless resourceVersion is empty, and the time of
// freshness.
func (s *status) advance(resourceVersion string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setFresh(resourceVersion, at)
}

// setFresh is advance with s.mu held.
func (s *status) setFresh(resourceVersion string, at time.Time) {
	if resourceVersion != "" {
		s.now.ResourceVersion, s.lastConfirmed = resourceVersion, at
	}
	s.now.FreshAt = at
}

// confirm records that the server is no older than the resourceVersion reached.
func (s *status) confirm(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastConfirmed = at
}

// confirmedAt returns when that was last recorded.
func (s *status) confirmedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastConfirmed
}

// watching enters the phase Watching. It ends the row of failures and returns it.
func (s *status) watching() failureRow {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Watching
	return s.endFailures()
}

// watchEnded records that no watch is open.
func (s *status) watchEnded() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Phase == Watching {
		s.now.Phase = Resuming
	}
}

// succeeded ends the row of failures and returns it.
func (s *status) succeeded() failureRow {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endFailures()
}

// endFailures requires that s.mu is held.
func (s *status) endFailures() failureRow {
	if s.now.Phase == Retrying {
		s.now.Phase = Resuming
	}
	row := failureRow{s.now.ErrSince, s.now.FailedAttempts}
	s.now.Err, s.now.ErrSince, s.now.FailedAttempts = nil, time.Time{}, 0
	return row
}

// started ends the row of failures of an earlier run.
func (s *status) started() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Listing
	s.endFailures()
}

// notServed enters the phase NotServed. It ends the row of failures.
func (s *status) notServed(err error) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endFailures()
	s.now.Phase, s.now.Err = NotServed, err
}

// served leaves the phase NotServed.
func (s *status) served() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Phase == NotServed {
		s.now.Phase, s.now.Err = Listing, nil
	}
}

func (s *status) failed(err error, at time.Time) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase, s.now.Err = Retrying, err
	if s.now.FailedAttempts++; s.now.FailedAttempts == 1 {
		s.now.ErrSince = at
	}
}

func (s *status) stopped() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Stopped
}
