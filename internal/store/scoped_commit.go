// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// Begin implements feed.Sink. Commit merges the replacement into the live state: it replaces the
// entries of the feed's scopes, in one batch of the log, and leaves those of other scopes as they
// are.
func (f *Feed[V]) Begin() feed.Replacement {
	s := f.store
	r := s.begin(func(key string, err error) {
		s.EndIfAbandoned()
		s.config.Report(key, err)
	})
	r.feed, r.next = f, newState(&indexSet[V]{}) // the indexes of the live state are changed instead
	return r
}

// Refuser is the replacement of a Feed.
type Refuser interface {
	// Refuse sets the UIDs, by key, of the list's objects that were not added although they are in
	// the scopes. Their deletions have LeftScope.
	Refuse(uids map[string]string)
}

func (r *replacement[V]) Refuse(uids map[string]string) { r.refused = uids }

// isRefused reports whether the list has an entry's object, which was not added.
func (r *replacement[V]) isRefused(key string, old *Entry[V]) bool {
	uid, refused := r.refused[key]
	return refused && hashUID(uid) == old.uid
}

// enter sets the scope of the entries that are made next to that of an item. It returns false if
// the item is foreign.
func (r *replacement[V]) enter(item feed.Item) bool {
	if r.feed == nil {
		return true
	}
	r.maker.scope = r.feed.scopeOf(item)
	return r.maker.scope != nil
}

// inScope returns an entry if it is in the scope that enter has set, and otherwise a copy that is.
func (r *replacement[V]) inScope(entry *Entry[V]) *Entry[V] {
	if r.feed == nil || entry.scope() == r.maker.scope {
		return entry
	}
	moved := *entry
	moved.indexed = r.maker.interner.intern(entry.byIndex(), r.maker.scope, nil)
	return &moved
}

// merge is the commit of a feed's replacement, which is applied to the live state.
type merge[V any] struct {
	*replacement[V]
	live    *state[V]
	scopes  []*Scope // of the feed, but for those that have reached a later version by another feed
	version string
	changes []Change[V]
}

// commitScopes is Commit for the replacement of a feed. The caller holds the writer's lock.
func (r *replacement[V]) commitScopes(resourceVersion string) {
	s := r.store
	m := merge[V]{replacement: r, live: s.live.Load(), version: resourceVersion}
	s.withMu(func() {
		m.scopes = r.scopesToReplace(resourceVersion)
		if r.compareContents && s.wasUndone(m.scopes, resourceVersion) {
			s.noteRestore(r.feed, m.scopes, resourceVersion)
		}
	})
	r.keepLastGoodStates(m.live)
	gone := s.keysOf(m.live, m.replaces)
	resolved := r.resolved(m.live, m.replaces)
	m.addIndexValues()

	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepareChange("")
	for _, scope := range m.scopes {
		scope.suspect = false
	}
	m.remove(gone)
	m.put()
	m.settleQuarantine(resolved)
	s.config.Log.Append(m.changes)
	m.advance()
}

// scopesToReplace returns the feed's scopes that have not reached a later version than the list's.
// After the server has gone back in time, these are all scopes of the feed. The caller holds mu.
func (r *replacement[V]) scopesToReplace(version string) []*Scope {
	return slices.DeleteFunc(slices.Clone(r.feed.Scopes()), func(scope *Scope) bool {
		return !r.feed.feeds(scope) || !r.compareContents && scope.synced && feed.IsOlder(version, scope.reached())
	})
}

func (m *merge[V]) replaces(scope *Scope) bool { return slices.Contains(m.scopes, scope) }

// addIndexValues adds the values of indexes that were added since Begin.
func (m *merge[V]) addIndexValues() {
	set := m.live.indexes.set
	if len(set.names) == 0 {
		return
	}
	for key, item := range m.next.entries.All() {
		var entry Entry[V]
		if entry.fromMap(item).lacksIndexOf(set) {
			m.store.addIndexValues(set, key, &entry)
			m.next.entries.Put(key, entry.mapItem())
		}
	}
}

// remove removes the entries under those keys that are not in the list. keys are those of the
// scopes that are replaced.
func (m *merge[V]) remove(keys []string) {
	s := m.store
	for _, key := range keys {
		if m.next.entries.Get(key) != nil {
			continue
		}
		old := new(Entry[V]).fromMap(m.live.entries.Item(key))
		refused := m.isRefused(key, old)
		undone := feed.IsOlder(m.version, old.versionText()) // by a restore, after which any older state may exist
		if !undone {
			s.recordPast(&pastDeletion{key: key, version: old.versionText(), last: true, scope: old.scope()}, &m.feed.progress)
		}
		if !undone && !refused && isPending(old.scope(), key, m.version, &m.feed.progress) {
			s.deferMove(key, m.version, old, nil)
			continue
		}
		s.removeEntry(m.live, key, old)
		m.changes = append(m.changes, Change[V]{Key: key, Old: old, Initial: !old.scope().synced, LeftScope: refused})
	}
}

// put puts the list's entries into the live state: first those that were made for the list, in list
// order, and then those that were kept, which may have moved from another scope.
func (m *merge[V]) put() {
	m.changes = slices.Grow(m.changes, len(m.made))
	seen := make(map[string]struct{})
	others := m.repeats || len(m.made) < m.next.entries.Len()
	for _, key := range m.made {
		if _, again := seen[key]; again {
			continue
		}
		if others {
			seen[key] = struct{}{}
		}
		m.putEntry(key, true)
	}
	if !others {
		return
	}
	for key := range m.next.entries.All() {
		if _, again := seen[key]; !again {
			m.putEntry(key, false)
		}
	}
}

// putEntry puts the list's entry of a key into the live state, unless the live state has a later
// one. made reports whether the entry was made for the list.
func (m *merge[V]) putEntry(key string, made bool) {
	s := m.store
	pair := new(entryPair[V])
	old, entry := pair.old.fromMap(m.live.entries.Item(key)), pair.next.fromMap(m.next.entries.Item(key))
	if entry == nil || !m.replaces(entry.scope()) {
		return
	}
	moved := old != nil && old.scope() != entry.scope()
	foreign := old != nil && !m.replaces(old.scope())
	switch {
	case old == nil && s.isPast(key, entry.versionText()):
		return
	case foreign && (entry.scope().retiring || entry.before(old.identity)):
		entry.scope().suspectIfUndone(old.scope())
		return
	case old != nil && m.sameState(key, old, entry, made):
		if old.ref != entry.ref || moved {
			s.putEntry(m.live, key, old, entry)
		}
		if !s.config.EmitUnchanged {
			return
		}
		m.changes = append(m.changes, Change[V]{Key: key, Old: old, New: entry})
		return
	}
	s.putEntry(m.live, key, old, entry)
	initial := !entry.scope().synced
	if old != nil && !old.sameObject(entry.identity) {
		m.changes = append(m.changes, Change[V]{Key: key, Old: old, Initial: initial})
		old = nil
	}
	m.changes = append(m.changes, Change[V]{Key: key, Old: old, New: entry, Initial: initial})
}

// settleQuarantine quarantines the keys whose states in the list could not be stored, and releases
// those of resolved.
func (m *merge[V]) settleQuarantine(resolved []string) {
	s := m.store
	for key, f := range m.rejected {
		if !f.skipped() && m.replaces(f.scope) {
			s.quarantine.add(key, f)
		}
	}
	unkeyed := m.unkeyed
	for _, scope := range m.scopes {
		s.quarantine.setUnkeyed(scope, unkeyed)
		unkeyed = 0
	}
	for _, key := range resolved {
		if f, rejected := m.rejected[key]; !rejected || f.skipped() {
			s.quarantine.release(key)
		}
	}
}

// advance records that the scopes have reached the list's version.
func (m *merge[V]) advance() {
	s := m.store
	m.feed.progress.version = m.version
	for _, scope := range m.scopes {
		scope.version, scope.synced = m.version, true
	}
	s.scopes.stalest = nil
	s.settleScopes(m.live)
}
