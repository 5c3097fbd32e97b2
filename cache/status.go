// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
)

// Phase is the activity of an informer.
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

	PhaseNotServed Phase = "NotServed" // the server does not serve the resource; Err says why; see InformerOptions.Served
)

// Status describes an informer or a Reflector at one moment.
type Status struct {
	Name  string
	Phase Phase
	// Synced is the result of HasSynced, except that it is false again while the informer holds
	// Scopes of which none has been listed.
	Synced bool
	// Err is the error of the last attempt to list or watch, nil once one has succeeded. Before the
	// scopes of NamespaceScopes or of a shard.Member are known, it says why they are not. In
	// PhaseNotServed, it says why the resource is not served, and wraps ErrNotServed.
	Err error
	// ErrSince is the time of the first failure since an attempt succeeded.
	ErrSince time.Time
	// FailedAttempts is the number of failed attempts since one succeeded.
	FailedAttempts int

	Freshness Freshness
	Requests  RequestStatus
	Store     StoreStatus
	// Handlers are the conditions of the handlers. A Reflector has none.
	Handlers []HandlerStatus
}

// Freshness is how recent the state is that a store has.
type Freshness struct {
	// ResourceVersion is the version of the collection that the store has reached, empty before the
	// first list.
	ResourceVersion string
	// FreshAt is when an event, a bookmark or a list last confirmed that the store is up to date.
	// Bookmarks, about one a minute from an API server, confirm a collection that does not change.
	// Without Scopes, FreshAt is zero before the first list. With Scopes, it is the FreshAt of the
	// scope that was confirmed the longest time ago. For a scope that was never listed, the time
	// at which it was added counts.
	FreshAt time.Time
	// Staleness is the time since FreshAt, by the informer's clock. The store may lack changes that
	// were made in this time. It is zero before the first list, in PhaseNotServed and, with Scopes,
	// before the first scope is added.
	Staleness time.Duration
}

// RequestStatus counts what an informer has requested and received.
type RequestStatus struct {
	// Lists and Watches are the numbers of requests made. Each page is a list; a WatchList is a
	// watch.
	Lists, Watches uint64
	// WatchRestarts is the number of watches opened to resume an earlier one, which the server had
	// closed or whose connection had broken.
	WatchRestarts uint64
	// Relists counts how often the collection had to be listed again after a watch, by the reason.
	// The map has a key for every reason, with zero for one that has not occurred.
	// docs/operations.md explains the reasons.
	Relists map[string]uint64
	// Received is the number of objects that the list in progress has brought so far. It is zero if
	// no list is in progress.
	Received int
	// RecentEvents are the numbers of watch events in each of the last 60 intervals of 5 s, the
	// oldest first. The last interval is not over yet.
	RecentEvents []uint32
	// Results counts the requests by verb and result. A watch is counted once the server has
	// accepted or refused it.
	Results map[Request]uint64
	// Streaming reports whether the last response was read from the stream; see EnableStreaming.
	Streaming bool
	// NotStreamingReason says why it was not. It is empty before the first response.
	NotStreamingReason string
	// BytesRead is the size of the responses that were read from the stream, after decompression.
	// Without streaming it is zero, as only the client knows.
	BytesRead uint64
	// Decoded is the number of objects decoded from bytes, and DecodeTime the time that this took,
	// summed over all goroutines. Reads of Packed objects are included; the client's own decoding
	// is not.
	Decoded    uint64
	DecodeTime time.Duration
}

// Request is a kind of request and its result. Verb is "LIST" or "WATCH". Code is the HTTP status
// code, such as "200", or "<error>" if there was no response.
type Request = feed.Request

// StoreStatus describes the objects of a store. That of a Reflector has only Quarantined,
// QuarantinedKeys and Unnamed, as the store is the program's.
type StoreStatus struct {
	// Objects is the number of objects.
	Objects int
	// PackedBytes is the size of the objects if they are Packed. It does not include the bytes that
	// objects share, nor the store's overhead of about 150 bytes an object.
	PackedBytes int64
	// Changes is the number of changes made so far: additions, updates and deletions.
	Changes uint64
	// Quarantined is the number of objects whose newest state could not be stored. The store has
	// the last good state of such an object, or none if there never was one.
	Quarantined int
	// QuarantinedKeys are the keys of these objects, at most the first 100 in order, with the
	// causes.
	QuarantinedKeys []QuarantinedKey
	// Unnamed is the number of objects without a readable name in the last list and in the events
	// since. They could not be stored.
	Unnamed int
	// IndexErrors counts, by index, how often its function has failed. Each time, ByIndex did not
	// find the object in that state. It is nil if none has failed.
	IndexErrors map[string]uint64
	// OmitFieldsNotFound are the paths of OmitFields that may be misspelled, as no object has had
	// them since the start. It is empty before the first list with objects, and for objects of a Go
	// struct, whose fields are known: there a misspelled path is an error of Run.
	OmitFieldsNotFound []string
}

// QuarantinedKey is a key whose newest state could not be stored.
type QuarantinedKey struct {
	Key string
	// Err wraps ErrNotStored and the cause. For an informer, Reader.KeyError returns it, too.
	Err error
}

// maxQuarantinedKeys is the length of StoreStatus.QuarantinedKeys, so that a Status can be printed.
const maxQuarantinedKeys = 100

// HandlerStatus describes one handler.
type HandlerStatus struct {
	Name string
	// UniqueName is Name, or Name#2 and so on if another handler of the informer has that name. It
	// does not change.
	UniqueName string
	// Synced is the result of Registration.HasSynced.
	Synced bool
	// Backlog is the number of changes since the handler was added for which it has not returned.
	Backlog uint64
	// Lag is an upper bound of the time that the oldest event of the backlog has waited.
	Lag time.Duration
	// Coalesced is the number of events that were coalesced into others; see
	// HandlerOptions.EveryEvent.
	Coalesced uint64
	// Calls is the number of calls of the handler that have returned, and CallTime the time that
	// these calls and the one in progress took.
	Calls    uint64
	CallTime time.Duration
	// CurrentKey is the key of the call in progress, or of the first event of its batch. It is
	// empty if no call is in progress. CurrentFor is how long that call has not returned, or less:
	// if the call followed another one without a pause, it is the time since a Status was first
	// read during the call.
	CurrentKey string
	CurrentFor time.Duration
}

// newStatus returns the status of a reflector and its source, or of the loop that feeds an
// informer, without its store and handlers.
func newStatus(name string, loop reflector.Status, source feed.RequestStatus, synced bool, now time.Time) Status {
	s := Status{
		Name: name, Phase: Phase(loop.Phase), Synced: synced, Err: loop.Err, ErrSince: loop.ErrSince, FailedAttempts: loop.FailedAttempts,
		Freshness: Freshness{ResourceVersion: loop.ResourceVersion, FreshAt: loop.FreshAt},
		Requests:  RequestStatus(loop.Requests.Add(source)),
	}
	if s.Phase != PhaseNotServed && !loop.FreshAt.IsZero() {
		s.Freshness.Staleness = max(0, ageAt(now, loop.FreshAt))
	}
	for _, reason := range reflector.RelistReasons() {
		s.Requests.Relists[string(reason)] += 0
	}
	return s
}

func clockOf(c clock.Clock) clock.Clock { return cmp.Or[clock.Clock](c, clock.RealClock{}) }

// HealthOptions are the requirements of a health check, in addition to a running informer that has
// synced.
type HealthOptions struct {
	// MaxStaleness is the limit of Freshness.Staleness. Zero is no limit. With API servers that
	// send bookmarks, about one a minute, use several minutes; with others, use zero, as a
	// collection that does not change is not confirmed. A fake.ListerWatcher sends none at
	// intervals unless BookmarkEvery was called.
	MaxStaleness time.Duration
	// FailOnQuarantined fails the check if the newest state of an object could not be stored.
	FailOnQuarantined bool
}

func healthCheck(status func() Status, now clock.PassiveClock, options HealthOptions) func(*http.Request) error {
	return func(*http.Request) error { return status().unhealthy(now.Now(), options) }
}

var errNotStarted = errors.New("Run has not been called")

// unhealthy returns why a store in this condition cannot be relied on.
func (s Status) unhealthy(now time.Time, options HealthOptions) error {
	switch {
	case s.Phase == PhaseInvalid:
		return s.Err
	case s.Phase == PhaseStopped:
		return fmt.Errorf("%s: %w", s.Name, ErrStopped)
	case s.Phase == PhaseIdle:
		return fmt.Errorf("%s: %w", s.Name, errNotStarted)
	case s.Phase == PhaseNotServed: // which is no failure
		return nil
	case !s.Synced && s.Err != nil:
		return fmt.Errorf("%s has not synced: %w", s.Name, s.Err)
	case !s.Synced:
		return fmt.Errorf("%s has not synced", s.Name)
	}
	age := ageAt(now, s.Freshness.FreshAt)
	if limit := options.MaxStaleness; limit > 0 && age > limit {
		text := fmt.Sprintf("%s was last confirmed up to date %v ago, MaxStaleness is %v", s.Name, age.Round(time.Second), limit)
		if s.Err != nil {
			return fmt.Errorf("%s: %w", text, s.Err)
		}
		return errors.New(text)
	}
	if options.FailOnQuarantined {
		return s.notStored()
	}
	return nil
}

// ageAt returns the time from then to now, by the clock that says more of the two: monotonic time
// stands still while the machine is suspended, and wall time may be set back.
func ageAt(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// notStored returns an error with the first object whose newest state could not be stored.
func (s Status) notStored() error {
	switch n := s.Store.Quarantined + s.Store.Unnamed; {
	case n == 0:
		return nil
	case len(s.Store.QuarantinedKeys) == 0:
		return fmt.Errorf("%s: %d without a readable name, not stored: %w", s.Name, n, ErrNotStored)
	default:
		first := s.Store.QuarantinedKeys[0]
		return fmt.Errorf("%s: %d not stored, the first is %q: %w", s.Name, n, first.Key, first.Err)
	}
}
