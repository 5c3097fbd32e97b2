// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Entry is one object of a collection. It is immutable. The map stores the valueRef as the value
// and the entryMeta beside it.
type Entry[V any] struct {
	ref *valueRef
	entryMeta
}

// entryMeta is what an entry records besides its value.
type entryMeta struct {
	indexed *indexValues // nil if there are neither indexes nor scopes
	identity
}

// indexValues holds an entry's values under each index, and its scope. Entries for which both are
// equal share one indexValues (see valueInterner).
type indexValues struct {
	byIndex [][]string // in the order of the indexSet
	scope   *Scope     // nil if the store has no scopes, or the program has written the entry
}

// mapItem is an entry as stored in the map.
type mapItem = snapmap.Item[valueRef, entryMeta]

func (e *Entry[V]) mapItem() mapItem { return mapItem{Value: e.ref, Meta: e.entryMeta} }

// fromMap sets *e to an entry read from the map and returns e, or returns nil if the map had none.
func (e *Entry[V]) fromMap(in mapItem) *Entry[V] {
	if in.Value == nil {
		return nil
	}
	e.ref, e.entryMeta = in.Value, in.Meta
	return e
}

// forgetVersion forgets the version of an entry that is kept instead of a newer state, if the entry's
// is the higher one, and reports whether it is. The server was then restored from a backup, and the
// states that follow, too, may have lower versions than the entry.
func (e *Entry[V]) forgetVersion(newer identity) bool {
	if e == nil || !newer.before(e.identity) {
		return false
	}
	e.version = 0
	return true
}

// entryPair holds both entries of a change in one allocation, as the log refers to both.
type entryPair[V any] struct{ old, next Entry[V] }

// sharedValues returns the entry's index values, nil for a nil entry.
func (e *Entry[V]) sharedValues() *indexValues {
	if e == nil {
		return nil
	}
	return e.indexed
}

// byIndex returns the entry's values under each index, nil for a nil entry.
func (e *Entry[V]) byIndex() [][]string {
	if e == nil || e.indexed == nil {
		return nil
	}
	return e.indexed.byIndex
}

// IsSameObject reports whether two entries of a key may be states of the same object: their UIDs
// are equal, or one has none.
func (e *Entry[V]) IsSameObject(other *Entry[V]) bool { return e.sameObject(other.identity) }

// scope returns the entry's scope, nil if it has none.
func (m entryMeta) scope() *Scope {
	if m.indexed == nil {
		return nil
	}
	return m.indexed.scope
}

// ownScope is scope for an entry that may be nil.
func (e *Entry[V]) ownScope() *Scope {
	if e == nil {
		return nil
	}
	return e.scope()
}

// Load returns an entry's value, which it decodes if the entry is packed. keep reports whether to
// keep a decoded object for a while, see hotSet. An entry that cannot be decoded is reported, once
// while it is the live one, and its key is quarantined, so that the object is fetched again.
func (s *Store[V]) Load(key string, entry *Entry[V], keep bool) (V, bool) {
	return s.load(key, entry.ref, keep)
}

func (s *Store[V]) load(key string, ref *valueRef, keep bool) (V, bool) {
	value, err := s.read(key, ref, keep)
	if err != nil {
		s.reportUnreadable(key, ref, err, s.config.Report)
	}
	return value, err == nil
}

// read returns the value of an entry, which it decodes if the entry is packed.
func (s *Store[V]) read(key string, ref *valueRef, keep bool) (V, error) {
	if s.config.Packer == nil {
		return s.value(ref), nil
	}
	p := packedOf(ref)
	if value, ok := s.loadLive(p, keep); ok {
		return value, nil
	}
	value, size, err := s.unpack(p)
	if err == nil {
		value = s.storeLive(key, p, value, size, keep)
	}
	return value, err
}

// unpack decodes a packed value. size is an estimate of the bytes of memory that it takes.
func (s *Store[V]) unpack(p *packed) (value V, size int, err error) {
	value, err = feed.CatchPanic(func() (value V, err error) {
		value, size, err = s.config.Packer.Unpack(p.object)
		return value, err
	})
	return value, size, err
}

// reportUnreadable quarantines the key of an entry that could not be decoded, and reports the
// error.
func (s *Store[V]) reportUnreadable(key string, ref *valueRef, err error, report func(string, error)) {
	err = fmt.Errorf("decode cached object: %w", err)
	if s.quarantineUnreadable(key, ref, err) {
		report(key, &feed.EffectError{Effect: feed.Unreadable, Err: err})
	}
}

// TryLoad returns an entry's value like Load, but neither reports nor quarantines an entry that
// cannot be decoded.
func (s *Store[V]) TryLoad(entry *Entry[V]) (value V, ok bool) {
	if s.config.Packer == nil {
		return s.value(entry.ref), true
	}
	p := packedOf(entry.ref)
	if value, ok = s.loadLive(p, false); ok {
		return value, true
	}
	value, _, err := s.unpack(p)
	return value, err == nil
}

// quarantineUnreadable quarantines a key whose entry could not be decoded, and reports whether the
// failure is new. It does not quarantine the key of an entry that was deleted or replaced, and is
// read from a snapshot or the log: fetching the object again would not help its reader.
func (s *Store[V]) quarantineUnreadable(key string, ref *valueRef, err error) bool {
	s.mu.Lock() // so that no writer replaces the entry before its key is quarantined
	defer s.mu.Unlock()
	if s.entries.Get(key) != ref {
		return true
	}
	item := s.entries.Item(key)
	return s.quarantine.add(key, failure{unreadable: true, err: err, scope: item.Meta.scope()})
}

// maker is what makeEntry keeps from entry to entry. One goroutine uses it at a time.
type maker struct {
	interner valueInterner
	scope    *Scope                      // of the next entry
	report   func(key string, err error) // receives the errors of index functions
}

// meta returns the entryMeta of an item's entry. It shares the index values of old.
func (m *maker) meta(item feed.Item, byIndex [][]string, old *indexValues) entryMeta {
	return entryMeta{m.interner.intern(byIndex, m.scope, old), identityOf(item.UID, item.ResourceVersion)}
}

// makeEntry sets *entry to the entry of an item, or of *value if value is not nil. It shares
// unchanged parts with old, the entry to be replaced, which may be nil.
func (s *Store[V]) makeEntry(entry *Entry[V], maker *maker, item feed.Item, value *V, old *Entry[V]) error {
	return s.makeIndexed(entry, s.live.Load().indexes.set, maker, item, value, old)
}

// makeUnindexed is makeEntry for an entry that is only compared. It calls no index function.
func (s *Store[V]) makeUnindexed(entry *Entry[V], maker *maker, item feed.Item, value *V, old *Entry[V]) error {
	return s.makeIndexed(entry, &indexSet[V]{}, maker, item, value, old)
}

func (s *Store[V]) makeIndexed(entry *Entry[V], set *indexSet[V], maker *maker, item feed.Item, value *V, old *Entry[V]) error {
	if s.config.Packer != nil {
		return s.packEntry(entry, set, maker, item, value, old)
	}
	live, err := s.valueOf(item, value)
	if err != nil {
		return err
	}
	valuesAt := func(i int) ([]string, error) { return set.functions[i](live) }
	byIndex := set.valuesOf(item.Key, valuesAt, old.byIndex(), maker.report)
	entry.ref = s.refOf(live)
	entry.entryMeta = maker.meta(item, byIndex, old.sharedValues())
	return nil
}

// valueOf returns *value, or the item's decoded value if value is nil.
func (s *Store[V]) valueOf(item feed.Item, value *V) (V, error) {
	if value != nil {
		return *value, nil
	}
	s.EndIfAbandoned()
	defer s.EndIfAbandoned() // before index functions
	return feed.CatchPanic(func() (V, error) { return s.config.Decode(item) })
}
