package store

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// A Store is the sink of a reflector.
var _ feed.Sink = (*Store[any])(nil)

// Apply applies one watch event. An object that cannot be stored keeps its last
// good state; the collection's version moves on all the same.
func (s *Store[V]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	s.writer.Lock()
	defer s.writer.Unlock()
	key, value, err := s.keyOf(item)
	if err != nil {
		s.reject(item.Key, err)
		s.Progress(item.ResourceVersion)
		return feed.Quarantined
	}
	old := s.live.Load().entries.Get(key)
	if old != nil {
		if outcome := s.compare(key, old, item); outcome == feed.Stale ||
			outcome == feed.Unchanged && eventType != watch.Deleted {
			s.Progress(item.ResourceVersion)
			return outcome
		}
	}
	item.Key = key
	if eventType == watch.Deleted {
		return s.applyDelete(item, value, old)
	}
	entry, err := s.newEntry(&s.metas, item, value, old)
	if err != nil {
		s.reject(key, err)
		s.Progress(item.ResourceVersion)
		return feed.Quarantined
	}
	s.set(key, old, entry, item.ResourceVersion)
	return feed.Applied
}

// Holds tells whether the store has exactly this version of the item's object.
func (s *Store[V]) Holds(item feed.Item) bool {
	key, _, err := s.keyOf(item)
	if err != nil {
		return false
	}
	old := s.live.Load().entries.Get(key)
	return old != nil && s.compare(key, old, item) == feed.Unchanged
}

// applyDelete removes an entry. The state told about is the deletion's, which
// carries the version at which the object was gone; if that cannot be had, the
// last one stored.
func (s *Store[V]) applyDelete(item feed.Item, value *V, old *Entry[V]) feed.Outcome {
	if old == nil {
		s.quarantine.release(item.Key)
		s.Progress(item.ResourceVersion)
		return feed.Unchanged
	}
	var final *Entry[V]
	if s.config.Log != nil {
		if entry, err := s.newEntry(&s.metas, item, value, old); err != nil {
			s.config.Report(item.Key, fmt.Errorf("state at deletion: %w", err))
		} else {
			final = entry
		}
	}
	s.remove(item.Key, old, final, item.ResourceVersion)
	return feed.Applied
}

// keyOf returns an item's key, and its value where that had to be decoded to
// find the key.
func (s *Store[V]) keyOf(item feed.Item) (string, *V, error) {
	if s.config.ItemKeys {
		return item.Key, nil, nil
	}
	value, err := guard(func() (V, error) { return s.config.Decode(item) })
	if err != nil {
		return "", nil, err
	}
	key, err := guard(func() (string, error) { return s.config.Key(value) })
	return key, &value, err
}

// compare tells whether an item is the state that the store has already
// (Unchanged), an older one (Stale), or news (Applied).
func (s *Store[V]) compare(key string, old *Entry[V], item feed.Item) feed.Outcome {
	uid, version := s.identity(old)
	if feed.SameVersion(uid, version, item.UID, item.ResourceVersion) && !s.quarantine.has(key) {
		return feed.Unchanged
	}
	if order, err := resourceversion.CompareResourceVersion(item.ResourceVersion, version); err == nil && order < 0 {
		return feed.Stale
	}
	return feed.Applied
}

// reject reports an object that could not be stored and remembers to ask for it
// again.
func (s *Store[V]) reject(key string, err error) {
	s.quarantine.add(key)
	s.config.Report(key, err)
}
