// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// modelStore is a model of a Store made of Go maps, without sharing and without locks.
type modelStore struct {
	itemKeys, packed bool
	emitUnstored     bool    // Config.EmitUnstoredDeletions
	unstored         *object // whose deletion the last operation emits although it was never stored

	live       map[string]*modelEntry
	version    string
	quarantine map[string]modelFailure
	indexers   map[string]IndexFunc

	next    *draft // the replacement begun, if any
	cleared bool   // since the last list

	repeats map[string]bool // keys of which the last operation emits an update to the same version
}

// modelFailure is the version that could not be stored, or that the entry cannot be read.
type modelFailure struct {
	version    string
	unreadable bool
}

// modelEntry is an entry: an object, whether its bytes are corrupt, and its values under the
// indexes that existed when it was indexed.
type modelEntry struct {
	object *object
	bad    *bool // shared by entries with the same bytes
	values map[string][]string
}

type draft struct {
	entries         map[string]*modelEntry
	rejected        map[string]string
	rejectedObjects map[string]*object // the same
	recovered, made map[string]bool
	compareContents bool
	byProgram       bool
	cleared         bool // since it was begun
}

func newModelStore(itemKeys, packed bool) *modelStore {
	return &modelStore{
		itemKeys: itemKeys, packed: packed, live: map[string]*modelEntry{}, quarantine: map[string]modelFailure{}, repeats: map[string]bool{},
		indexers: map[string]IndexFunc{"group": groupsOf},
	}
}

func isFault(o *object, at ...string) bool {
	return slices.Contains(at, strings.TrimSuffix(o.Fault, " panic"))
}

// before compares versions as numbers. Other versions are not comparable.
func before(a, b string) bool {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	return errA == nil && errB == nil && x < y
}

func (m *modelStore) advanceVersion(version string) {
	if version != "" && !before(version, m.version) {
		m.version = version
	}
}

// noteUnstored notes whether the deletion of an object that is not stored is emitted.
func (m *modelStore) noteUnstored(o *object) {
	_, quarantined := m.quarantine[o.Key]
	reached := before(o.Version, m.version) || o.Version == m.version && before("0", o.Version)
	if m.emitUnstored && !quarantined && !reached && !isFault(o, "decode") && !(m.packed && isFault(o, "pack")) {
		m.unstored = o
	}
}

func (m *modelStore) entry(o *object) *modelEntry {
	e := &modelEntry{object: o, bad: new(bool)}
	return m.index(e)
}

// index returns a copy of an entry with values under all indexes.
func (m *modelStore) index(e *modelEntry) *modelEntry {
	values := maps.Clone(e.values)
	if values == nil {
		values = map[string][]string{}
	}
	for name, f := range m.indexers {
		if _, ok := values[name]; !ok {
			found, err := feed.CatchPanic(func() ([]string, error) { return f(e.object) })
			if err != nil {
				found = nil
			}
			found = slices.Clone(found)
			slices.Sort(found)
			values[name] = slices.Compact(found)
		}
	}
	return &modelEntry{object: e.object, bad: e.bad, values: values}
}

// read returns an entry's object. If the live entry's bytes are corrupt, it quarantines the key.
func (m *modelStore) read(key string, e *modelEntry) (*object, bool) {
	if !*e.bad {
		return e.object, true
	}
	if live := m.live[key]; live != nil && live.bad == e.bad {
		m.mark(key, modelFailure{unreadable: true})
	}
	return nil, false
}

func (m *modelStore) mark(key string, failed modelFailure) {
	known, quarantined := m.quarantine[key]
	if quarantined && failed.unreadable {
		return
	}
	if failed.version == "" {
		failed.version = known.version
	}
	m.quarantine[key] = failed
}

// classify compares an object with the live state and returns Unchanged, Stale or Applied.
func (m *modelStore) classify(o *object) feed.Outcome {
	old := m.live[o.Key]
	if old == nil {
		return feed.Applied
	}
	if sameVersion(old.object, o) {
		if failed, quarantined := m.quarantine[o.Key]; !quarantined || before(o.Version, failed.version) {
			return feed.Unchanged
		}
		return feed.Applied
	}
	newest := m.quarantine[o.Key].version
	if newest == "" {
		newest = old.object.Version
	}
	if before(o.Version, newest) {
		return feed.Stale
	}
	return feed.Applied
}

func sameVersion(a, b *object) bool {
	return a.UID != "" && a.Version != "" && a.UID == b.UID && a.Version == b.Version
}

// keyUnknown reports whether the object's key cannot be determined.
func (m *modelStore) keyUnknown(o *object) bool { return !m.itemKeys && isFault(o, "decode", "key") }

// unstorable reports whether the object cannot be stored.
func (m *modelStore) unstorable(o *object) bool {
	return m.keyUnknown(o) || isFault(o, "decode") || m.packed && isFault(o, "pack")
}

// isOther reports whether an object that has the key of o is another: both have a UID, and these
// differ.
func isOther(e *modelEntry, o *object) bool {
	return e != nil && e.object.UID != "" && o.UID != "" && e.object.UID != o.UID
}

func (m *modelStore) apply(event watch.EventType, o *object) feed.Outcome {
	defer m.advanceVersion(o.Version)
	m.unstored = nil
	unknown := event == watch.Deleted && m.keyUnknown(o)
	live := m.live[o.Key]
	notStored := live == nil || unknown && isOther(live, o)
	if failed := m.quarantine[o.Key]; event == watch.Deleted && notStored && failed.version != "" && before(o.Version, failed.version) {
		return feed.Stale
	}
	if unknown && o.UID != "" && notStored {
		if live == nil { // the object is not stored, and its key is not read
			m.noteUnstored(o)
		}
		delete(m.quarantine, o.Key)
		return feed.Unchanged
	}
	outcome := m.classify(o)
	switch {
	case outcome == feed.Stale, outcome == feed.Unchanged && event != watch.Deleted:
		return outcome
	case event == watch.Deleted && (!unknown || m.live[o.Key] != nil):
		if m.live[o.Key] == nil {
			m.noteUnstored(o)
		}
		delete(m.quarantine, o.Key)
		if m.live[o.Key] == nil {
			return feed.Unchanged
		}
		m.set(o.Key, nil)
		return feed.Applied
	case m.unstorable(o):
		if isOther(live, o) {
			m.set(o.Key, nil)
		}
		m.mark(o.Key, modelFailure{version: o.Version})
		return feed.Quarantined
	}
	m.noteRepeat(o.Key, m.live[o.Key], m.entry(o))
	m.set(o.Key, m.entry(o))
	return feed.Applied
}

// noteRepeat notes whether e replaces another state of the same version.
func (m *modelStore) noteRepeat(key string, old, e *modelEntry) {
	if old != nil && sameVersion(old.object, e.object) && !m.quarantine[key].unreadable {
		m.repeats[key] = *old.bad || *e.bad || !reflect.DeepEqual(old.object, e.object)
	}
}

func (m *modelStore) set(key string, e *modelEntry) {
	delete(m.quarantine, key)
	if e == nil {
		delete(m.live, key)
		return
	}
	m.live[key] = e
}

func (m *modelStore) begin(compareContents bool) {
	m.next = &draft{
		entries: map[string]*modelEntry{}, rejected: map[string]string{}, rejectedObjects: map[string]*object{},
		recovered: map[string]bool{}, made: map[string]bool{}, compareContents: compareContents,
	}
}

func (m *modelStore) add(o *object) {
	e := m.live[o.Key]
	added, rejected := m.next.entries[o.Key], m.next.rejected[o.Key]
	isOlder := added != nil && before(o.Version, added.object.Version)
	made := m.classify(o) != feed.Unchanged
	if made || m.next.compareContents {
		if m.unstorable(o) {
			if !isOlder && !before(o.Version, rejected) {
				m.next.rejected[o.Key], m.next.rejectedObjects[o.Key] = o.Version, o
			}
			return
		}
		if made = made || *e.bad || !reflect.DeepEqual(e.object, o); made {
			e = m.entry(o)
		}
	}
	if isOlder {
		return
	}
	if !before(o.Version, rejected) {
		delete(m.next.rejected, o.Key)
	}
	if _, quarantined := m.quarantine[o.Key]; quarantined {
		m.next.recovered[o.Key] = true
	}
	m.next.made[o.Key] = m.next.made[o.Key] || made
	m.next.entries[o.Key] = e
}

func (m *modelStore) drop(o *object) {
	if !before(o.Version, m.next.rejected[o.Key]) {
		delete(m.next.rejected, o.Key)
	}
	added := m.next.entries[o.Key]
	if added != nil && !before(o.Version, added.object.Version) && !(m.keyUnknown(o) && isOther(added, o)) {
		delete(m.next.entries, o.Key)
	}
}

func (m *modelStore) commit(version string) {
	next := m.next
	m.next = nil
	m.reindex(next.entries)
	for key := range next.rejected {
		if old := m.live[key]; old != nil && next.entries[key] == nil && !isOther(old, next.rejectedObjects[key]) {
			next.entries[key] = old
		}
	}
	for key, e := range next.entries {
		if !next.compareContents && (next.made[key] || m.live[key] != nil && m.live[key].bad != e.bad) {
			m.noteRepeat(key, m.live[key], e)
		}
	}
	for key := range m.quarantine {
		old, e := m.live[key], next.entries[key]
		kept := old != nil && e != nil && (old.bad == e.bad || !next.compareContents && sameVersion(old.object, e.object))
		_, rejected := next.rejected[key]
		if (!kept || next.recovered[key]) && !next.byProgram && !rejected {
			delete(m.quarantine, key)
		}
	}
	for key, failed := range next.rejected {
		m.mark(key, modelFailure{version: failed})
	}
	m.live, m.version = next.entries, version
}

// clear removes all entries. What the feed received before is outdated.
func (m *modelStore) clear() {
	clear(m.quarantine)
	m.live, m.cleared = map[string]*modelEntry{}, true
	if m.next != nil {
		m.next.cleared = true
	}
}

// reindex adds the missing index values of entries that were made before an index was added.
func (m *modelStore) reindex(entries map[string]*modelEntry) {
	for key, e := range entries {
		if len(e.values) < len(m.indexers) {
			if _, ok := m.read(key, e); ok {
				entries[key] = m.index(e)
			}
		}
	}
}

// replace is a write of the program, which does not move the version.
func (m *modelStore) replace(objects []*object) bool {
	for _, o := range objects {
		if isFault(o, "key") || m.packed && isFault(o, "pack") {
			return false
		}
	}
	interrupted := m.next
	m.begin(false)
	m.next.byProgram = true
	for _, o := range objects {
		m.next.entries[o.Key] = m.entry(o)
		m.next.recovered[o.Key], m.next.made[o.Key] = true, true
	}
	m.commit(m.version)
	m.next = interrupted
	return true
}
