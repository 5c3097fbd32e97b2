// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/kinformer/kinformer/internal/feed"

// Put adds or replaces a value, regardless of its version.
func (s *Store[V]) Put(value V) error {
	key, err := feed.CatchPanic(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.endWrite()
	uid, version := s.config.Identity(value)
	pair := new(entryPair[V])
	old := pair.old.fromMap(s.entries.Item(key))
	s.maker.scope = old.ownScope()
	if err := s.makeEntry(&pair.next, &s.maker, feed.Item{Key: key, UID: uid, ResourceVersion: version}, &value, old); err != nil {
		return err
	}
	kind := update
	if old != nil && !old.sameObject(pair.next.identity) {
		kind = recreate
	}
	s.set(key, old, &pair.next, s.writtenVersion(version), kind, s.programOrigin())
	return nil
}

// isFed reports whether the store belongs to an informer. Its resourceVersion then says what the
// server has sent, so that a write of the program, which may be of a later version, does not move
// it.
func (s *Store[V]) isFed() bool { return s.config.Log != nil }

// origin is who has sent a state. Only a state of the server shows that a key which could not be
// stored can be stored again.
type origin int

const (
	fromServer origin = iota
	fromProgram
)

// programOrigin returns the origin of a write of the program: in a store without a feed, it takes
// the place of the server.
func (s *Store[V]) programOrigin() origin {
	if s.isFed() {
		return fromProgram
	}
	return fromServer
}

// writtenVersion returns the version that the collection reaches by a write of the program.
func (s *Store[V]) writtenVersion(version string) string {
	if s.isFed() {
		return ""
	}
	return version
}

// Remove deletes the entry under the value's key, if any.
func (s *Store[V]) Remove(value V) error {
	key, err := feed.CatchPanic(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.endWrite()
	if old := new(Entry[V]).fromMap(s.entries.Item(key)); old != nil {
		_, version := s.config.Identity(value)
		s.remove(removal[V]{key: key, old: old}, s.writtenVersion(version), s.programOrigin())
	}
	return nil
}

// changeKind is how an entry that replaces another is recorded in the log.
type changeKind int

const (
	update   changeKind = iota // an addition or an update
	recreate                   // another object under the same key: a deletion and an addition
	silent                     // the same state, repaired: not recorded
)

// changeKindOf returns the kind of the change from old, which may be nil, to next.
func (s *Store[V]) changeKindOf(key string, old, next *Entry[V]) changeKind {
	switch {
	case old == nil:
		return update
	case !old.sameObject(next.identity):
		return recreate
	case old.sameVersion(next.identity) && s.isRepair(key, old, next):
		return silent
	}
	return update
}

// isRepair reports whether next, whose version is that of old, is the same state: old could not be
// read, or has equal contents. Otherwise the server has used the version again after a restore
// whose first state of the object could not be stored, or the program has written old.
func (s *Store[V]) isRepair(key string, old, next *Entry[V]) bool {
	f, _ := s.quarantine.failed(key)
	return f.unreadable || s.equal(old.ref, next.ref)
}

// set puts an entry in place of old, which may be nil, and appends the change to the log. The
// caller holds the writer's lock.
func (s *Store[V]) set(key string, old, entry *Entry[V], version string, kind changeKind, by origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.prepareChange(version)
	state.entries.Put(key, entry.mapItem())
	if by == fromServer {
		s.quarantine.release(key) // after Put: Find takes no lock
	}
	state.indexes.move(key, old, entry)
	switch log := s.config.Log; {
	case log == nil || kind == silent:
	case kind == recreate:
		log.Append([]Change[V]{{Key: key, Old: old}, {Key: key, New: entry}})
	default:
		log.AppendOne(Change[V]{Key: key, Old: old, New: entry})
	}
	s.recordReplaced(state, old, entry)
}

// removal is the deletion of an entry. Its fields are those of the Change.
type removal[V any] struct {
	key        string
	old, final *Entry[V]
	leftScope  bool
}

// remove deletes an entry and appends the deletion to the log. The caller holds the writer's lock.
func (s *Store[V]) remove(r removal[V], version string, by origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by == fromServer {
		s.quarantine.release(r.key)
	}
	state := s.prepareChange(version)
	state.entries.Delete(r.key)
	state.indexes.move(r.key, r.old, nil)
	if s.config.Log != nil {
		s.config.Log.AppendOne(Change[V]{Key: r.key, Old: r.old, Final: r.final, LeftScope: r.leftScope})
	}
	s.recordReplaced(state, r.old, nil)
}

// prepareChange returns the live state for a change at version, and drops the current snapshot. The
// caller holds both locks.
func (s *Store[V]) prepareChange(version string) *state[V] {
	if s.current.Load() != nil {
		s.current.Store(nil)
	}
	state := s.live.Load()
	state.writes++
	state.version = newer(state.version, version)
	return state
}

// newer returns version, unless it is empty or known to be older than current. Versions that cannot
// be compared count as newer.
func newer(current, version string) string {
	if version == "" || feed.IsOlder(version, current) {
		return current
	}
	return version
}
