package store

import (
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Entry is one object of a collection. It is immutable. The map has its parts, the
// face as the value and the rest as the note.
type Entry[V any] struct {
	ref *valueRef
	entryMeta
}

// note is what an entry remembers besides its value.
type entryMeta struct {
	indexed *indexValues // nil where there is no index
	identity
}

// meta is what entries have in common that are under the same index values: they
// share one (see interner).
type indexValues struct {
	byIndex [][]string // the values under each index, in the order of the indexSet
}

// item is an entry as it lies in the map.
type mapItem = snapmap.Item[valueRef, entryMeta]

func (e *Entry[V]) mapItem() mapItem { return mapItem{Value: e.ref, Meta: e.entryMeta} }

// entryOf makes *e the entry that lies in the map, and returns e, or nil if there is
// none.
func (e *Entry[V]) fromMap(in mapItem) *Entry[V] {
	if in.Value == nil {
		return nil
	}
	e.ref, e.entryMeta = in.Value, in.Meta
	return e
}

// pair is the room for the entries of one change, which the log keeps together.
type entryPair[V any] struct{ old, next Entry[V] }

// indexed returns the entry's values under each index, none of a nil entry.
func (e *Entry[V]) byIndex() [][]string {
	if e == nil || e.indexed == nil {
		return nil
	}
	return e.indexed.byIndex
}

// Load returns an entry's value, decoding it if it is packed. One that cannot be
// decoded is reported, once while it is live, and its key quarantined, so that
// it is fetched again.
func (s *Store[V]) Load(key string, entry *Entry[V]) (V, bool) { return s.load(key, entry.ref) }

func (s *Store[V]) load(key string, f *valueRef) (V, bool) {
	if s.config.Packer == nil {
		return s.value(f), true
	}
	p := packedOf(f)
	if value, ok := s.loadLive(p); ok {
		return value, true
	}
	value, err := guard(func() (V, error) { return s.config.Packer.Unpack(p.object) })
	if err == nil {
		return s.storeLive(p, value), true
	}
	if s.quarantineUnreadable(key, f) {
		s.config.Report(key, fmt.Errorf("decode cached object: %w", err))
	}
	return value, false
}

// Peek is Load for who can neither report nor do anything about an entry that cannot be
// decoded.
func (s *Store[V]) TryLoad(entry *Entry[V]) (value V, ok bool) {
	if s.config.Packer == nil {
		return s.value(entry.ref), true
	}
	p := packedOf(entry.ref)
	if value, ok = s.loadLive(p); ok {
		return value, true
	}
	value, err := guard(func() (V, error) { return s.config.Packer.Unpack(p.object) })
	return value, err == nil
}

// unreadable quarantines a key whose entry could not be decoded, and tells
// whether that is news. Only the live entry is to be fetched again: a deleted or
// replaced one may still be read from a snapshot or the log.
func (s *Store[V]) quarantineUnreadable(key string, f *valueRef) bool {
	s.mu.Lock() // or a writer could replace the entry before its key is marked
	defer s.mu.Unlock()
	if s.entries.Get(key) != f {
		return true
	}
	return s.quarantine.add(key, "")
}

// makeEntry makes *entry the entry of an item, or of its value where there is one
// already. old, the entry it will replace, or nil, lends what has not changed.
func (s *Store[V]) makeEntry(entry *Entry[V], interner *valueInterner, item feed.Item, value *V, old *Entry[V]) error {
	set := s.live.Load().indexes.set
	if s.config.Packer != nil {
		return s.packEntry(entry, set, interner, item, value, old)
	}
	live, err := s.valueOf(item, value)
	if err != nil {
		return err
	}
	valuesAt := func(i int) ([]string, error) { return set.functions[i](live) }
	indexed := set.valuesOf(item.Key, valuesAt, old.byIndex(), s.config.Report)
	entry.ref = s.refOf(live)
	entry.entryMeta = entryMeta{interner.intern(indexed, old.sharedValues()), identityOf(item.UID, item.ResourceVersion)}
	return nil
}

// valueOf returns an item's value: *value, or decoded where that is nil.
func (s *Store[V]) valueOf(item feed.Item, value *V) (V, error) {
	if value != nil {
		return *value, nil
	}
	return guard(func() (V, error) { return s.config.Decode(item) })
}

func (e *Entry[V]) sharedValues() *indexValues {
	if e == nil {
		return nil
	}
	return e.indexed
}

// guard calls a function of the user and turns its panic into an error.
func guard[R any](f func() (R, error)) (result R, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("panic: %w", r)
		default:
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
