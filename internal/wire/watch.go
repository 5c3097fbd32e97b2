// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one event of a watch. It is valid until the callback that received it returns.
type Event struct {
	Type   watch.EventType // empty if unknown
	Object Item            // the watched object, or a Status for watch.Error; see Err
}

// Watch splits the body of a WATCH response into events and calls event for each, in order, as soon
// as the event's last byte has been read. It returns nil when the body ends after an event. If
// event returns an error, Watch stops and returns that error unchanged.
//
// ERROR and BOOKMARK events, and a Status of any type, are delivered like the others; see Event.Err
// and Event.Bookmark. So are events of another type, and without an object of the watch's kind; see
// Item.Malformed.
func Watch(body io.Reader, format Format, options Options, event func(*Event) error) error {
	return splitWatch(body, format, options, watchBuffer, event)
}

// splitWatch is Watch with a given initial buffer size.
func splitWatch(body io.Reader, format Format, options Options, buffer int, event func(*Event) error) error {
	w := watchSplitter{
		splitter: splitter{
			options: options,
			window:  newWindow(body, buffer, &options),
			body:    format.bodyName(bodyWatch),
		},
		callback: event,
	}
	defer w.close()
	w.current.Object = Item{Format: format, body: w.body}
	var err error
	switch format {
	case Protobuf:
		err = (&protoWatch{watchSplitter: &w}).split()
	case JSON:
		err = (&jsonWatch{watchSplitter: &w}).split()
	default:
		err = errFormat(format)
	}
	return w.wrapError(err)
}

// Err returns the error of an ERROR event, or of an event of another type whose object is a Status:
// an *apierrors.StatusError unless the event is malformed. It returns nil for other events.
func (e *Event) Err() error {
	if e.Type != watch.Error && !e.Object.isStatus() {
		return nil
	}
	err := fmt.Errorf("%s event: %w %s, want \"Status\"", e.Type, ErrWrongKind, Quote(e.Object.Kind))
	if e.Object.Kind == "Status" {
		if err = statusError(e.Object.Raw, e.Object.Format); isStatus(err) {
			return err
		}
	}
	return e.Object.errorAt(e.Object.Offset, err)
}

// Bookmark returns the resourceVersion of a BOOKMARK event, and whether the event ends the initial
// events of a watch with sendInitialEvents.
func (e *Event) Bookmark() (resourceVersion string, initialEventsEnd bool, err error) {
	meta, err := e.Object.Meta()
	if err != nil {
		return "", false, err
	}
	annotations, err := e.Object.annotations()
	if err != nil {
		return "", false, err
	}
	return meta.ResourceVersion, annotations[metav1.InitialEventsAnnotationKey] == "true", nil
}

// watchSplitter is the common part of jsonWatch and protoWatch.
type watchSplitter struct {
	splitter
	current  Event
	callback func(*Event) error
}

// deliver completes current, whose object and kind are set, and calls the callback with it.
// malformed, if not nil, is why the object cannot be read. An event with neither a known type nor
// an object is an error of the watch.
func (w *watchSplitter) deliver(eventType []byte, malformed error) error {
	parsed, unknownType := parseEventType(eventType)
	w.current.Type = parsed
	object := &w.current.Object
	noObject, isFatal := w.objectError(parsed, malformed)
	switch {
	case isFatal:
		return noObject
	case noObject != nil && unknownType != nil:
		return cmp.Or(malformed, inField("type", unknownType))
	case noObject != nil:
		object.drop(w.wrapError(noObject))
	case unknownType != nil:
		object.Malformed = w.wrapError(inField("type", unknownType))
	}
	object.Index = w.item
	object.TooLarge = w.takeOversized()
	if err := w.callback(&w.current); err != nil {
		return callbackError{err}
	}
	object.Malformed = nil
	w.item++
	return nil
}

// objectError returns why the object of an event of type t is none of the watch, nil if it is one.
// The error is one of the watch if the object is decoded whole and is too large, or if it should
// have said why the watch ends.
func (w *watchSplitter) objectError(t watch.EventType, malformed error) (err error, isFatal bool) { //nolint:revive // the flag is about the error
	switch {
	case malformed != nil:
		return malformed, t == watch.Error || t == watch.Bookmark && errors.Is(malformed, ErrTooLarge)
	case len(w.current.Object.Raw) == 0:
		return inField("object", fmt.Errorf("missing in %s event", t)), t == watch.Error
	}
	err = inField("object", w.checkObject(t))
	return err, err != nil && (t == watch.Error || errors.Is(err, ErrTooLarge))
}

// checkObject returns an error if the object of an event of type t is of another kind, or larger
// than allowed where it is no watched object. Such an object is decoded whole.
func (w *watchSplitter) checkObject(t watch.EventType) error {
	object := &w.current.Object
	isError := t == watch.Error || object.isStatus()
	if isError || t == watch.Bookmark {
		if w.oversized != nil {
			return w.oversized
		}
		if err := w.headerLimit.check(int64(len(object.Raw))); err != nil {
			return err
		}
	}
	if isError {
		return nil
	}
	return w.check(object)
}

// isStatus reports whether the object is a Status, by which a server reports an error.
func (i *Item) isStatus() bool {
	return i.Kind == "Status" && (i.APIVersion == "v1" || i.APIVersion == "")
}

// check returns ErrWrongKind for an object of another kind. Unlike the items of a list, the
// objects of a watch always carry their kind. That a kind is not a string is found when the
// identity is read.
func (w *watchSplitter) check(object *Item) error {
	if w.options.Kind != "" && object.Kind == "" && object.members.wrong&(1<<memberKind) == 0 {
		return fmt.Errorf("%w: none, want %q", ErrWrongKind, w.options.Kind)
	}
	return w.options.check(object.APIVersion, object.Kind)
}

// parseEventType returns the type of an event. It does not allocate for valid types.
func parseEventType(b []byte) (watch.EventType, error) {
	switch t := watch.EventType(b); t {
	case watch.Added:
		return watch.Added, nil
	case watch.Modified:
		return watch.Modified, nil
	case watch.Deleted:
		return watch.Deleted, nil
	case watch.Bookmark:
		return watch.Bookmark, nil
	case watch.Error:
		return watch.Error, nil
	case "":
		return "", errors.New("missing")
	default:
		return "", errors.New("unknown event type") // what it is may be the content of an object
	}
}
