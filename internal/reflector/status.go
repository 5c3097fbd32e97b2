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
	Resuming Phase = "Resuming" // the watch ended in order, and the next is about to be opened
	Retrying Phase = "Retrying" // the last attempt failed; the sink holds the last good state
	Stopped  Phase = "Stopped"
)

// Status is a reflector's condition at one moment.
type Status struct {
	Phase           Phase
	Err             error     // of the last attempt, nil once one succeeded
	ErrSince           time.Time // of Err: the first failure since an attempt succeeded
	Attempts        int       // failed in a row
	ResourceVersion string    // reached
	FreshAt           time.Time // the last proof that the sink was up to date: an event, bookmark or list
	Lists, Watches  uint64    // requests made; each page is one, a WatchList is a watch
}

// status is the Status under a lock.
type status struct {
	mu     sync.Mutex // guards what follows; held for a few assignments only
	now    Status
	proved time.Time // when the server was last known to be no older than ResourceVersion
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

// listing says that a whole state is being got.
func (s *status) listing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Err == nil {
		s.now.Phase = Listing
	}
}

// listed and watched count requests.
func (s *status) listed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Lists++
}

func (s *status) watched() {
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
		s.now.ResourceVersion, s.proved = resourceVersion, at
	}
	s.now.FreshAt = at
}

// proven notes that the server is known to be no older than the version reached.
func (s *status) proven(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proved = at
}

// unproven tells whether that has not been known for a time.
func (s *status) unproven(at time.Time, since time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return at.Sub(s.proved) >= since
}

func (s *status) watching() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Watching
	s.now.Err, s.now.ErrSince, s.now.Attempts = nil, time.Time{}, 0
}

// ended says that no watch is open any more.
func (s *status) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Phase == Watching {
		s.now.Phase = Resuming
	}
}

// succeeded forgets the last error.
func (s *status) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Err, s.now.ErrSince, s.now.Attempts = nil, time.Time{}, 0
}

func (s *status) fail(err error, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase, s.now.Err = Retrying, err
	if s.now.Attempts++; s.now.Attempts == 1 {
		s.now.ErrSince = at
	}
}

func (s *status) stopped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Phase = Stopped
}
