package feed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Source is a collection of the API that can be listed and watched. Its methods
// push what they receive in the calling goroutine and return when the request
// has ended, soon after ctx has.
type Source interface {
	// List makes one list request and passes each item of the answer to add,
	// as it arrives if the source can. An error of add ends the request and is
	// returned. Whoever lists must be ready to have been passed items of a
	// list that then fails.
	List(ctx context.Context, options metav1.ListOptions, add func(Item) error) (metav1.ListMeta, error)

	// Watch makes one watch request and passes what the stream says to events
	// until it ends: nil if the server closed it, otherwise the error, an ERROR
	// event of the stream included (as an *apierrors.StatusError). An error of
	// events ends the stream and is returned.
	Watch(ctx context.Context, options metav1.ListOptions, events WatchSink) error
}

// WatchSink receives a watch. Its methods are called in order, from one
// goroutine.
type WatchSink interface {
	// Opened is called when the server has accepted the watch.
	Opened()
	// Event is an ADDED, MODIFIED or DELETED event.
	Event(eventType watch.EventType, item Item) error
	// Bookmark says that every event up to resourceVersion (empty: not said)
	// has been sent; initialEventsEnd marks the end of the initial state that
	// sendInitialEvents asked for (KEP-3157).
	Bookmark(resourceVersion string, initialEventsEnd bool) error
}
