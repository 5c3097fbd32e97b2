package reflector

import (
	"sync"
	"time"
)

// Phase is what a reflector is doing.
type Phase string

// The phases of a reflector.
const (
	Idle     Phase = "Idle"     // not started
	Listing  Phase = "Listing"  // waits for the initial state, or for a new one
	Watching Phase = "Watching" // the watch is open
	Retrying Phase = "Retrying" // the last attempt failed; the sink holds the last good state
	Stopped  Phase = "Stopped"
)

// Status is a reflector's condition at one moment.
type Status struct {
	Phase           Phase
	Err             error     // of the last attempt, nil once one succeeded
	Since           time.Time // of Err: the first failure since an attempt succeeded
	Attempts        int       // failed in a row
	ResourceVersion string    // reached
	Fresh           time.Time // the last proof that the sink was up to date: an event, bookmark or list
	Lists, Watches  uint64    // requests made
}

// status is the Status under a lock.
type status struct {
	mu  sync.Mutex // guards now; held for a few assignments only
	now Status
}

// Status returns the reflector's condition.
func (r *Reflector) Status() Status {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	now := r.status.now
	if now.Phase == "" {
		now.Phase = Idle
	}
	return now
}

// LastSyncResourceVersion returns the version that the sink has reached, empty
// before the first state.
func (r *Reflector) LastSyncResourceVersion() string { return r.version() }

func (r *Reflector) version() string {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	return r.status.now.ResourceVersion
}

func (s *status) listing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Lists++
	if s.now.Err == nil {
		s.now.Phase = Listing
	}
}

func (s *status) opening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Watches++
}

// reached moves the version, unless resourceVersion is empty, and the time of
// freshness.
func (s *status) reached(resourceVersion string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if resourceVersion != "" {
		s.now.ResourceVersion = resourceVersion
	}
	s.now.Fresh = at
}

func (s *status) watching() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Watching
	s.now.Err, s.now.Since, s.now.Attempts = nil, time.Time{}, 0
}

// succeeded forgets the last error.
func (s *status) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Err, s.now.Since, s.now.Attempts = nil, time.Time{}, 0
}

func (s *status) fail(err error, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase, s.now.Err = Retrying, err
	if s.now.Attempts++; s.now.Attempts == 1 {
		s.now.Since = at
	}
}

func (s *status) stopped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Stopped
}
