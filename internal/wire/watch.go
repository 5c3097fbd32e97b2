package wire

import (
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one event of a watch. It is valid until the function that was given
// it returns.
type Event struct {
	Type   watch.EventType // one of package watch's
	Object Item            // for an ERROR a Status, else the watched object
}

// Watch cuts the body of a WATCH into events and calls event with each, in
// order, as soon as its last byte has been read. It returns nil when the body
// ends behind an event. An error of event ends it and is returned as it is.
//
// ERROR and BOOKMARK events are passed like the others; see Err and Bookmark.
func Watch(body io.Reader, format Format, options Options, event func(*Event) error) error {
	return watchBody(body, format, options, watchBuffer, event)
}

// watchBody is Watch with a buffer of some size to begin with.
func watchBody(body io.Reader, format Format, options Options, buffer int, event func(*Event) error) error {
	cut := watchCutter{
		cutter: cutter{
			options: options,
			window:  newWindow(body, buffer, options.limit()),
			body:    format.what(aWatch),
		},
		handle: event,
	}
	cut.current.Object = Item{Format: format, body: cut.body}
	var err error
	switch format {
	case Protobuf:
		err = (&protoWatch{watchCutter: &cut}).run()
	case JSON:
		err = (&jsonWatch{watchCutter: &cut}).run()
	default:
		err = errFormat(format)
	}
	return cut.located(err)
}

// Err returns the error that an ERROR event states, an *apierrors.StatusError;
// nil for an event of another type.
func (e *Event) Err() error {
	if e.Type != watch.Error {
		return nil
	}
	err := fmt.Errorf("ERROR event: %w %q where \"Status\" was expected", ErrWrongKind, e.Object.Kind)
	if e.Object.Kind == "Status" {
		if err = statusError(e.Object.Raw, e.Object.Format); isStatus(err) {
			return err
		}
	}
	return e.Object.located(e.Object.Offset, err)
}

// Bookmark returns what a BOOKMARK event says: the resourceVersion that the
// stream has reached, and whether it is the end of the initial events that
// sendInitialEvents asked for.
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

// watchCutter is what both ways of cutting a watch have in common.
type watchCutter struct {
	cutter
	current Event
	handle  func(*Event) error
}

// deliver hands out current, of which the object and its kind are set.
func (w *watchCutter) deliver(eventType []byte) error {
	known, err := knownType(eventType)
	if err != nil {
		return inField("type", err)
	}
	w.current.Type = known
	object := &w.current.Object
	if len(object.Raw) == 0 {
		return inField("object", fmt.Errorf("the %s event has none", known))
	}
	if known != watch.Error {
		if err := w.check(object); err != nil {
			return inField("object", err)
		}
	}
	object.Index = w.item
	object.TooLarge = w.takeOversized()
	if err := w.handle(&w.current); err != nil {
		return callbackError{err}
	}
	w.item++
	return nil
}

// check refuses an object of another kind. Unlike items of a list, the objects
// of a watch always say what they are.
func (w *watchCutter) check(object *Item) error {
	if w.options.Kind != "" && object.Kind == "" {
		return fmt.Errorf("%w: none where %q was expected", ErrWrongKind, w.options.Kind)
	}
	return w.options.check(object.APIVersion, object.Kind)
}

// knownType returns the type of an event without making a string of it.
func knownType(b []byte) (watch.EventType, error) {
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
		return "", errors.New("the event has none")
	default:
		return "", fmt.Errorf("%s, which is none of an event's", excerpt(b))
	}
}
