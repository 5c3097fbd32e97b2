package cache

import (
	"time"

	"github.com/kinformer/kinformer/internal/reflector"
)

// Phase is what an informer is doing.
type Phase string

// The phases of an informer.
const (
	PhaseIdle     Phase = Phase(reflector.Idle)     // not started
	PhaseListing  Phase = Phase(reflector.Listing)  // waits for the whole state
	PhaseWatching Phase = Phase(reflector.Watching) // follows the watch
	PhaseResuming Phase = Phase(reflector.Resuming) // the watch ended in order, and the next is about to be opened
	PhaseRetrying Phase = Phase(reflector.Retrying) // the last attempt failed; the store has the last good state
	PhaseStopped  Phase = Phase(reflector.Stopped)  // Run has returned
	PhaseInvalid  Phase = "Invalid"                 // made of something that cannot work; Err says what
)

// Status is an informer's condition at one moment.
type Status struct {
	Name  string
	Phase Phase
	// Synced: HasSynced is true.
	Synced bool
	// Err is why the last attempt to list or watch failed, nil once one succeeded.
	Err error
	// ErrSince is when Err's row of failures began.
	ErrSince time.Time
	// Attempts is how many attempts have failed in that row.
	Attempts int
	// ResourceVersion is the version of the collection that the store has reached.
	ResourceVersion string
	// FreshAt is when the store was last proved to be up to date: by an event, a
	// bookmark or a list. Zero before the first list. A quiet collection is proved
	// about once a minute, by API servers that send bookmarks.
	FreshAt time.Time
	// Objects is how many objects the store holds.
	Objects int
	// Quarantined is how many objects wait for a state that can be stored.
	Quarantined int
	// Streaming: the last answer was cut from the stream (see EnableStreaming).
	Streaming bool
	// NotStreaming says why it was not, once there was an answer.
	NotStreamingReason string
	// Lists and Watches are how many such requests were made.
	Lists, Watches uint64
	// Handlers are the conditions of the handlers.
	Handlers []HandlerStatus
}

// HandlerStatus is the condition of one handler.
type HandlerStatus struct {
	Name string
	// Synced: its calls have returned for the whole first state, or for the state that
	// was there when it was added.
	Synced bool
	// Lag is how many events there have been since the oldest that it has not been told;
	// those that it is being told count.
	Backlog uint64
	// Behind is for how long that one has waited, at most.
	Lag time.Duration
	// Merged is how many events were joined with others (see MergeWhenBehind).
	Coalesced uint64
}
