// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is a watch event. All watchers of a change share one Event, so that it is encoded once.
type Event struct {
	Type    watch.EventType
	Object  Object // shared; must not be modified
	Version uint64

	mu      sync.Mutex        // guards encoded; held while encoding, so that one watcher encodes
	encoded map[string][]byte // by encoding
}

func newEvent(eventType watch.EventType, item *Item) *Event {
	return &Event{Type: eventType, Object: item.Object, Version: item.Version}
}

// bookmark returns a bookmark event: an empty object of the collection's type with only the
// resourceVersion set and, for the bookmark that ends the initial events, the annotation
// k8s.io/initial-events-end.
func (c *Collection) bookmark(version uint64, endOfInitialEvents bool) *Event {
	obj := c.spec.New()
	obj.SetResourceVersion(FormatVersion(version))
	if endOfInitialEvents {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return &Event{Type: watch.Bookmark, Object: obj, Version: version}
}

// Encoded returns the event in an encoding, identified by its name. It calls encode once for each
// encoding, however many watchers share the event. The returned bytes must not be modified.
func (e *Event) Encoded(encoding string, encode func(*Event) ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if data, ok := e.encoded[encoding]; ok {
		return data, nil
	}
	data, err := encode(e)
	if err != nil {
		return nil, err
	}
	if e.encoded == nil {
		e.encoded = map[string][]byte{}
	}
	e.encoded[encoding] = data
	return data, nil
}
