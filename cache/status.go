package cache

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/source"
)

// Phase is what an informer is doing.
type Phase string

// The phases of an informer.
const (
	PhaseIdle     Phase = "Idle"     // Run has not been called
	PhaseListing  Phase = "Listing"  // the complete state is being fetched
	PhaseWatching Phase = "Watching" // a watch is open
	PhaseResuming Phase = "Resuming" // the last request succeeded and the next watch is being opened
	PhaseRetrying Phase = "Retrying" // the last attempt failed; the store has the last good state
	PhaseStopped  Phase = "Stopped"  // Run has returned
	PhaseInvalid  Phase = "Invalid"  // made of invalid arguments; Err says which
)

// Status is the condition of an informer at one moment.
type Status struct {
	Name  string
	Phase Phase
	// Synced is the result of HasSynced.
	Synced bool
	// Err is the error of the last attempt to list or watch, nil once one has succeeded.
	Err error
	// ErrSince is the time of the first failure since an attempt succeeded.
	ErrSince time.Time
	// Attempts is the number of failed attempts since one succeeded.
	Attempts int
	// ResourceVersion is the version of the collection that the store has reached.
	ResourceVersion string
	// FreshAt is when an event, a bookmark or a list last confirmed that the store is up to date.
	// It is zero before the first list. API servers that send bookmarks confirm a quiet collection
	// about once a minute.
	FreshAt time.Time
	// Objects is the number of objects in the store.
	Objects int
	// Quarantined is the number of objects whose newest state could not be stored.
	Quarantined int
	// Streaming reports whether the last response was read from the stream; see EnableStreaming.
	Streaming bool
	// NotStreamingReason says why it was not. It is empty before the first response.
	NotStreamingReason string
	// Lists and Watches are the numbers of requests made. Each page is a list; a WatchList is a
	// watch.
	Lists, Watches uint64
	// Handlers are the conditions of the handlers.
	Handlers []HandlerStatus
}

// HandlerStatus is the condition of one handler.
type HandlerStatus struct {
	Name string
	// Synced is the result of Registration.HasSynced.
	Synced bool
	// Backlog is the number of events that have not been delivered, those being delivered included.
	Backlog uint64
	// Lag is an upper bound of the time that the oldest of them has waited.
	Lag time.Duration
	// Coalesced is the number of events that were coalesced into others; see CoalesceWhenBehind.
	Coalesced uint64
}

// reflectorStatus returns the part of a Status that a reflector knows.
func reflectorStatus(name string, invalid error, loop *reflector.Reflector, source source.Source, synced bool) Status {
	if invalid != nil {
		return Status{Name: name, Phase: PhaseInvalid, Err: invalid}
	}
	now := loop.Status()
	s := Status{
		Name:            name,
		Phase:           Phase(now.Phase),
		Synced:          synced,
		Err:             now.Err,
		ErrSince:        now.ErrSince,
		Attempts:        now.Attempts,
		ResourceVersion: now.ResourceVersion,
		FreshAt:         now.FreshAt,
		Lists:           now.Lists,
		Watches:         now.Watches,
	}
	s.Streaming, s.NotStreamingReason = source.Mode()
	return s
}

// healthCheck returns a check of a status.
func healthCheck(status func() Status, now clock.PassiveClock, maxStaleness time.Duration) func(*http.Request) error {
	return func(*http.Request) error { return status().unhealthy(now.Now(), maxStaleness) }
}

var errNotStarted = errors.New("Run has not been called")

// unhealthy returns why a store in this condition cannot be relied on.
func (s Status) unhealthy(now time.Time, maxStaleness time.Duration) error {
	age := now.Sub(s.FreshAt)
	switch {
	case s.Phase == PhaseInvalid:
		return s.Err
	case s.Phase == PhaseStopped:
		return fmt.Errorf("%s: %w", s.Name, ErrStopped)
	case s.Phase == PhaseIdle:
		return fmt.Errorf("%s: %w", s.Name, errNotStarted)
	case !s.Synced && s.Err != nil:
		return fmt.Errorf("%s has not synced: %w", s.Name, s.Err)
	case !s.Synced:
		return fmt.Errorf("%s has not synced", s.Name)
	case maxStaleness <= 0 || age <= maxStaleness:
		return nil
	case s.Err != nil:
		return fmt.Errorf("%s was last confirmed up to date %v ago: %w", s.Name, age.Round(time.Second), s.Err)
	default:
		return fmt.Errorf("%s was last confirmed up to date %v ago", s.Name, age.Round(time.Second))
	}
}
