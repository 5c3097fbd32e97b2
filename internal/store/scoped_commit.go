// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// enter sets the scope of the entries that are made next to that of an item. It returns false if
// the item is foreign.
func (r *Replacement[V]) enter(item feed.Item) bool {
	if r.feed == nil {
		return true
	}
	r.maker.scope = r.feed.scopeOf(item)
	return r.maker.scope != nil
}

// inScope returns an entry if it is in the scope that enter has set, and otherwise a copy that is.
func (r *Replacement[V]) inScope(entry *Entry[V]) *Entry[V] {
	if r.feed == nil || entry.scope() == r.maker.scope {
		return entry
	}
	moved := *entry
	moved.indexed = r.maker.interner.intern(entry.byIndex(), r.maker.scope, nil)
	return &moved
}

// merge is the commit of a feed's replacement, which is applied to the live state.
type merge[V any] struct {
	*Replacement[V]
	live    *state[V]
	scopes  []*Scope // of the feed, but for those that have reached a later version by another feed
	version string
	changes []Change[V]
}

// commitScopes is Commit for the replacement of a feed. The caller holds the writer's lock.
func (r *Replacement[V]) commitScopes(resourceVersion string) {
	s := r.store
	m := merge[V]{Replacement: r, live: s.live.Load(), version: resourceVersion}
	s.withMu(func() {
		m.scopes = r.scopesToReplace(resourceVersion)
		if r.compareContents && s.wasUndone(m.scopes, resourceVersion) {
			s.noteRestore(r.feed, m.scopes, resourceVersion)
		}
	})
	m.dropOlderFailures()
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
	m.removeReplaced()
	m.put()
	m.settleQuarantine(resolved)
	s.config.Log.Append(m.changes)
	m.changed = m.changes
	m.advance()
}

// scopesToReplace returns the feed's scopes that have not reached a later version than the list's.
// After the server has gone back in time, these are all scopes of the feed. The caller holds mu.
func (r *Replacement[V]) scopesToReplace(version string) []*Scope {
	return slices.DeleteFunc(slices.Clone(r.feed.Scopes()), func(scope *Scope) bool {
		return !r.feed.feeds(scope) || !r.compareContents && scope.synced && feed.IsOlder(version, scope.reached())
	})
}

func (m *merge[V]) replaces(scope *Scope) bool { return slices.Contains(m.scopes, scope) }

// dropOlderFailures drops the list's states that could not be stored, or are ignored, if another
// scope has a newer state of the key.
func (m *merge[V]) dropOlderFailures() {
	maps.DeleteFunc(m.rejected, func(key string, f failure) bool {
		if !m.replaces(f.scope) {
			return true
		}
		old := new(Entry[V]).fromMap(m.live.entries.Item(key))
		id := identity{uid: f.uid, version: versionOf(f.version)}
		foreign := old == nil || !m.replaces(old.scope())
		undone := !f.scope.retiring && !m.isPast(key, f.version, f.scope) && (old == nil || m.shows(old.versionText()))
		return foreign && !undone && m.store.hasNewer(f.scope, key, f.version, id, old)
	})
}

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

// removeReplaced removes the entries of other scopes whose object was recreated, in a state that
// could not be stored or is ignored.
func (m *merge[V]) removeReplaced() {
	s := m.store
	for key, f := range m.rejected {
		old := new(Entry[V]).fromMap(m.live.entries.Item(key))
		if old != nil && !old.sameObject(identity{uid: f.uid}) && !s.renames.Load() {
			s.removeEntry(m.live, key, old)
			m.changes = append(m.changes, Change[V]{Key: key, Old: old})
		}
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
	_, kept := m.rejected[key] // the list's own state is newer, see dropOlderFailures
	switch {
	case (old == nil || foreign) && !kept && m.isPast(key, entry.versionText(), entry.scope()):
		return
	case foreign && (entry.scope().retiring || entry.before(old.identity) && !m.shows(old.versionText())):
		entry.scope().suspectIfUndone(old.scope())
		return
	case old != nil && m.sameState(key, old, entry, made):
		if old.ref != entry.ref || moved || old.identity != entry.identity { // see forgetVersion
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

// shows reports whether the list is not older than a version. What it has of a key is then newer than
// a state or a deletion of that version in another scope. If its own version is lower, a restore of
// the server has undone the other one.
func (m *merge[V]) shows(version string) bool {
	return m.version != "" && !feed.IsOlder(m.version, version)
}

// isPast reports whether a state in the list is older than a deletion in another scope, which the
// list does not show. A state belongs to one scope, unless one of the two takes the other's objects
// over, so that the last one before a deletion elsewhere is another one, whose version a restored
// server has used again.
func (m *merge[V]) isPast(key, version string, scope *Scope) bool {
	d := m.store.scopes.past[key]
	if d == nil || !d.precludes(version) {
		return false
	}
	mayBeLast := version == d.version && (d.scope == scope || d.scope.retiring || scope.retiring)
	return mayBeLast || !m.shows(d.version)
}

// settleQuarantine quarantines the keys whose states in the list could not be stored, and releases
// those of resolved.
func (m *merge[V]) settleQuarantine(resolved []string) {
	s := m.store
	for key, f := range m.rejected {
		s.recordPast(&pastDeletion{key: key, version: f.version, scope: f.scope}, &m.feed.progress)
		if !f.skipped() {
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
