package history

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is what watchers see. All watchers of a change get the same Event, so that it is encoded once for all of them.
type Event struct {
	Type    watch.EventType
	Object  Object // shared: read only
	Version uint64

	mu      sync.Mutex        // guards encoded; held while encoding, so that a thousand watchers wait for one encoder
	encoded map[string][]byte // by content type
}

func newEvent(eventType watch.EventType, item *Item) *Event {
	return &Event{Type: eventType, Object: item.Object, Version: item.Version}
}

// bookmark returns a bookmark at a version: an empty object of the collection's type, which carries the version alone, and at the end of
// the initial events the annotation that says so.
func (c *Collection) bookmark(version uint64, endOfInitialEvents bool) *Event {
	obj := c.spec.New()
	obj.SetResourceVersion(FormatVersion(version))
	if endOfInitialEvents {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return &Event{Type: watch.Bookmark, Object: obj, Version: version}
}

// Encoded returns the bytes of the event in a form; encode is called once per event and form, whatever the number of watchers.
// The bytes are shared: nobody may change them.
func (e *Event) Encoded(form string, encode func(*Event) ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if data, ok := e.encoded[form]; ok {
		return data, nil
	}
	data, err := encode(e)
	if err != nil {
		return nil, err
	}
	if e.encoded == nil {
		e.encoded = map[string][]byte{}
	}
	e.encoded[form] = data
	return data, nil
}
