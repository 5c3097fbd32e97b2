package store

import (
	"fmt"

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
	itemKey := item.Key
	key, value, err := s.keyOf(item)
	item.Key = key
	pair := new(entryPair[V])
	old := pair.old.fromMap(s.entries.Item(key))
	tell := update
	if old != nil {
		id := identityOf(item.UID, item.ResourceVersion)
		if outcome := s.compare(old.identity, id, item); outcome == feed.Stale ||
			outcome == feed.Unchanged && eventType != watch.Deleted {
			s.AdvanceVersion(item.ResourceVersion)
			return outcome
		}
		tell = changeKindOf(old.identity, id)
	}
	switch {
	case err != nil:
	case eventType == watch.Deleted:
		s.quarantine.release(itemKey)
		return s.applyDelete(item, value, old, &pair.next, tell)
	default:
		err = s.makeEntry(&pair.next, &s.interner, item, value, old)
	}
	if err != nil {
		s.quarantine.add(key, item.ResourceVersion)
		s.config.Report(key, err)
		s.AdvanceVersion(item.ResourceVersion)
		return feed.Quarantined
	}
	if itemKey != key { // it could not be decoded before, and nobody knew its key
		s.quarantine.release(itemKey)
	}
	s.set(key, old, &pair.next, item.ResourceVersion, tell)
	return feed.Applied
}

// applyDelete removes an entry, and tells the state of the deletion, which carries
// the version at which the object was gone, unless that cannot be had or is
// another object's. last is room for it.
func (s *Store[V]) applyDelete(item feed.Item, value *V, old, last *Entry[V], tell changeKind) feed.Outcome {
	if old == nil {
		s.quarantine.release(item.Key)
		s.AdvanceVersion(item.ResourceVersion)
		return feed.Unchanged
	}
	var final *Entry[V]
	if s.config.Log != nil && tell != recreate {
		if err := s.makeEntry(last, &s.interner, item, value, old); err != nil {
			s.config.Report(item.Key, fmt.Errorf("state at deletion: %w", err))
		} else {
			final = last
		}
	}
	s.remove(item.Key, old, final, item.ResourceVersion)
	return feed.Applied
}

// Holds tells whether the store has exactly this version of the item's object.
func (s *Store[V]) HasVersion(item feed.Item) bool {
	key, _, err := s.keyOf(item)
	if err != nil {
		return false
	}
	item.Key = key
	var entry Entry[V]
	old := s.liveEntry(key, &entry)
	if old == nil {
		return false
	}
	return s.compare(old.identity, identityOf(item.UID, item.ResourceVersion), item) == feed.Unchanged
}

// keyOf returns an item's key, and its value where that had to be decoded to
// find the key. With an error the key is the item's own, which is the best guess.
func (s *Store[V]) keyOf(item feed.Item) (string, *V, error) {
	if s.config.ItemKeys {
		return item.Key, nil, nil
	}
	value, err := guard(func() (V, error) { return s.config.Decode(item) })
	if err != nil {
		return item.Key, nil, err
	}
	key, err := guard(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return item.Key, nil, err
	}
	return key, &value, nil
}

// compare tells whether an item is the state that the store has already
// (Unchanged), an older one (Stale), or news (Applied), which the same version
// is, too, where the stored state cannot be read. Of an object whose newest state could
// not be stored, that one counts: the good state that it keeps may be of before a restore
// of the server, with a higher version.
func (s *Store[V]) compare(old, next identity, item feed.Item) feed.Outcome {
	failed, quarantined := s.quarantine.failed(item.Key)
	switch {
	case old.sameVersion(next) && (!quarantined || older(item.ResourceVersion, failed)):
		return feed.Unchanged
	case old.sameVersion(next):
		return feed.Applied
	case failed != "" && older(item.ResourceVersion, failed), failed == "" && next.before(old):
		return feed.Stale
	}
	return feed.Applied
}
