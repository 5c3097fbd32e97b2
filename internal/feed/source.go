// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Source is a collection of the API that can be listed and watched. Its methods call the given
// functions in the calling goroutine and return when the request has ended, soon after ctx ends.
type Source interface {
	// List makes one list request and calls add for each item of the response, as it arrives if
	// the source streams. If add returns an error, List ends the request and returns that error.
	// List may fail after it has passed items to add.
	List(ctx context.Context, options metav1.ListOptions, add func(Item) error) (metav1.ListMeta, error)

	// Watch makes one watch request and passes its events to the sink until the stream ends. It
	// returns nil if the server closed the stream, and the error otherwise; an ERROR event is
	// returned as an *apierrors.StatusError. If a method of the sink returns an error, Watch ends
	// the stream and returns that error.
	Watch(ctx context.Context, options metav1.ListOptions, events WatchSink) error

	// Traits returns what is known of the source so far. It may be called at any time, also
	// concurrently with requests.
	Traits() Traits
}

// Traits is what a source is known to be. The zero value is a source of which nothing is known,
// which is taken for an API server, except for Server.
type Traits struct {
	// Server means that an API server has answered: over HTTP to a request with its context,
	// through the tap, or with a watch that reads from a connection. It does not go back to false.
	Server bool
	// Fake means that the source answers from memory and is no API server. Where the ListerWatcher
	// declares it, by IsWatchListSemanticsUnSupported, Fake is set before the first request, until
	// a response proves the opposite: one over HTTP, or a watch that reads from a connection.
	// Elsewhere it is set once a watch is open and is Unversioned, so that the first
	// list is made without this knowledge. It does not go back to false after an Unversioned watch.
	Fake bool
	// Unversioned means that the source does not count versions: its last open watch was a
	// *watch.FakeWatcher or *watch.RaceFreeFakeWatcher. Their events are in order, whatever their
	// resourceVersions, which may be missing, fixed or falling, and they replay nothing. It is set
	// before WatchSink.Opened is called, and not before the first watch. Other fakes, such as
	// client-go's FakeControllerSource, count versions, and are Fake only if they declare it.
	Unversioned bool
}

// ErrNoInitialEvents is the error of a Watch whose source does not know sendInitialEvents.
var ErrNoInitialEvents = errors.New("no initial events from a fake client that does not support WatchList")

// ErrNotSplit reports a list that the source could not read from the stream. The client decodes the
// next one.
var ErrNotSplit = errors.New("the list could not be read from the stream")

// WatchSink receives the events of a watch. Its methods are called in order by one goroutine.
type WatchSink interface {
	// Opened is called once the server has accepted the watch.
	Opened()
	// Event receives an ADDED, MODIFIED or DELETED event.
	Event(eventType watch.EventType, item Item) error
	// Unreadable receives an event whose object cannot be identified, or whose type is unknown and
	// eventType empty. It may be a deletion. IsUnreadable reports true for the item, which has what
	// is known of the object.
	Unreadable(eventType watch.EventType, item Item) error
	// Bookmark reports that the server has sent every event up to resourceVersion, which is empty
	// if the server did not send one. initialEventsEnd marks the end of the initial state
	// requested with sendInitialEvents (KEP-3157).
	Bookmark(resourceVersion string, initialEventsEnd bool) error
}
