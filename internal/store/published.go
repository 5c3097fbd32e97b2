// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// published is what readers see of a store, and what they wait for. publish.go has what changes it.
type published struct {
	entries entryMap // of the live state; Get reads it without a lock, others hold writer or mu
	valueCodec
	_ [64]byte // separates the CPU cache lines of reads from those that each write changes

	quarantine   quarantine
	waiters      waiters      // for the store's version
	scopeWaiters atomic.Int32 // number of callers that wait for the version of a scope
	// absence is nil if the server's objects are there. Otherwise it points to the error that says
	// why they are not, which is nil if they are gone. It is written under both locks.
	absence atomic.Pointer[error]
	// listing is how often the set of listed scopes has changed. A change of several scopes is
	// visible at once: each scope records the listing from which on it is listed, or removed. It is
	// written under both locks.
	listing atomic.Uint64

	mu         sync.Mutex               // guards the fields below, including the maps of the live state
	live       atomic.Pointer[state]    // also loaded without a lock; replaced by swap
	scopes     scopes                   // at least one, if the store has a feed
	tombstones tombstones               // empty if the store has one scope
	current    atomic.Pointer[Snapshot] // the latest snapshot; nil after a change until the next Snapshot
	synced     atomic.Pointer[uint64]   // see Synced; nil before the first replacement; written under both locks
	clears     uint64                   // the number of calls of Clear; written under both locks
}

// Snapshot returns the current state. It has all of the list of a whole collection or none, and may
// have a part of that of a scope. It takes O(1), since
// package snapmap captures a map in O(1), and returns the previous snapshot if nothing has changed.
func (s *published) Snapshot() *Snapshot {
	for range snapshotTries {
		if current := s.current.Load(); current != nil {
			return current
		}
		if s.mu.TryLock() {
			defer s.mu.Unlock()
			return s.snapshot()
		}
		runtime.Gosched()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

// snapshotTries is how often a reader tries to take the lock before it blocks on it. The lock is
// held briefly, but once goroutines are queued on a mutex each further one queues, too: a writer
// beside many readers would wait until every reader was scheduled and had its turn.
const snapshotTries = 100

// snapshot is Snapshot for a caller that holds mu.
func (s *published) snapshot() *Snapshot {
	if current := s.current.Load(); current != nil {
		return current
	}
	state := s.live.Load()
	data := &snapshotData{codec: &s.valueCodec, absence: s.Absence(), set: state.indexes.set, entries: state.entries.View()}
	if n := len(state.indexes.values); n > 0 {
		data.indexes = make([]indexView, n)
		for i, keys := range state.indexes.values {
			data.indexes[i] = keys.View()
		}
	}
	state.pages.Advance()
	current := &Snapshot{data, state.version, 0}
	s.current.Store(current)
	return current
}

// SnapshotAndCursor returns the state that handlers have received, and a cursor that starts at the
// first change after it. The store must have a log.
func (s *published) SnapshotAndCursor() (*Snapshot, *eventlog.Cursor[Change]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.snapshot()
	return &Snapshot{current.snapshotData, current.version, s.Listing()}, s.config.Log.Cursor()
}

// Get returns the value under key. It takes no lock unless it decodes the value, and may return the
// result of a change that no snapshot shows yet.
func (s *published) Get(key string) (any, bool) {
	ref := s.entries.Get(key)
	if ref == nil {
		return nil, false
	}
	if s.direct {
		return s.fromPointer(ref), true
	}
	return s.load(key, ref)
}

// Find returns the value under key, as Get does. If there is none, it returns KeyError. It reads
// the value again after the error, since the object may have been stored in between, and all again
// if the scopes were others then.
func (s *published) Find(key string) (value any, exists bool, err error) {
	value, exists = s.Get(key)
	for !exists {
		listing := s.Listing()
		err = s.KeyError(key)
		if value, exists = s.Get(key); !exists && s.Listing() == listing {
			return value, false, err
		}
	}
	return value, true, nil
}

// AnyKey returns the key of one entry or, if there is none, of one object that could not be stored.
// It returns "" if there is neither.
func (s *published) AnyKey() string {
	for key := range s.Snapshot().entries.All() {
		return key
	}
	for key := range s.quarantine.failures() {
		return key
	}
	return ""
}

// liveEntry sets *entry to the live entry of key and returns it with the key as the store keeps it,
// or returns nil and key itself. It takes mu: a caller that does not hold the writer's lock could
// otherwise read a partly written entryMeta.
func (s *published) liveEntry(key string, entry *Entry) (live *Entry, kept string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, kept := s.entries.KeptItem(key)
	return entry.fromMap(item), kept
}

// HasUID reports whether the store holds an object under key that was received with this UID. An
// empty UID stands for any.
func (s *published) HasUID(key, uid string) bool {
	var entry Entry
	live, _ := s.liveEntry(key, &entry)
	return live != nil && (uid == "" || live.uid == hashUID(uid))
}

// Len returns the number of entries.
func (s *published) Len() int { return s.entries.Len() }

// PackedBytes returns the size of the packed objects in the store.
func (s *published) PackedBytes() int64 { return s.live.Load().packedBytes.Load() }

// isFed reports whether the store belongs to an informer. Its resourceVersion then says what the
// server has sent, so that a write of the program, which may be of a later version, does not move
// it.
func (s *published) isFed() bool { return s.config.Log != nil }

// ResourceVersion returns the collection's resourceVersion that the store has reached, or "" before
// the first.
func (s *published) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Load().version
}

// Synced reports whether the first full state has been stored, and returns the number of events
// that the log held at that time, including those of that state.
func (s *published) Synced() (events uint64, ok bool) {
	if synced := s.synced.Load(); synced != nil {
		return *synced, true
	}
	return 0, false
}

// IsCleared reports whether a scope has not been listed since Clear.
func (s *published) IsCleared() bool { return s.absence.Load() != nil }

// Absence returns the error of Clear or Expect, nil if the store shows the collection, or its
// objects are gone.
func (s *published) Absence() error {
	if absence := s.absence.Load(); absence != nil {
		return *absence
	}
	return nil
}

// Listing returns the number of the present set of listed scopes; see Scope.IsListedAt. It takes
// no lock. A scope is in the set from before its list is in the log, and until before its entries
// are removed.
func (s *published) Listing() uint64 { return s.listing.Load() }

// Listed reports whether a scope has ever been listed, and whether one has been since Clear.
func (s *published) Listed() (ever, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range s.scopes.held {
		ever = ever || scope.isListed()
		now = now || scope.isListed() && !scope.cleared
	}
	return ever, now
}

// KeyError returns the Absence or the Failure of key. If there is none, and the key is not stored,
// it returns the error of Config.Absent.
func (s *published) KeyError(key string) error {
	if err := cmp.Or(s.Absence(), s.Failure(key)); err != nil {
		return err
	}
	if s.config.Absent == nil || s.entries.Get(key) != nil {
		return nil
	}
	return s.config.Absent(key)
}

// Failure returns an error that wraps ErrNotStored and the cause if the newest state received for
// key could not be stored or read, and nil otherwise.
func (s *published) Failure(key string) error {
	if f, failed := s.quarantine.failed(key); failed {
		return f.wrapped()
	}
	return nil
}

// QuarantinedKeys returns the first quarantined keys in key order, at most limit, and their causes.
func (s *published) QuarantinedKeys(limit int) (first []KeyFailure) {
	failures := s.quarantine.failures()
	keys := slices.Sorted(maps.Keys(failures))
	for _, key := range keys[:min(limit, len(keys))] {
		first = append(first, KeyFailure{key, failures[key].wrapped()})
	}
	return first
}

// QuarantineSize returns the number of quarantined keys, and the number of states without a
// readable key in the last committed list and in events since.
func (s *published) QuarantineSize() (keys, unnamed int) { return s.quarantine.total() }

// IndexErrors returns how often each index function has failed, without those that have not. Each
// time, the index did not find the object in that state.
func (s *published) IndexErrors() (failed map[string]uint64) {
	set := s.live.Load().indexes.set
	for i, name := range set.names {
		if n := set.errors[i].Load(); n > 0 {
			if failed == nil {
				failed = make(map[string]uint64)
			}
			failed[name] = n
		}
	}
	return failed
}

// ScopeState describes a scope.
type ScopeState struct {
	ResourceVersion string
	Synced          bool
	Objects         int
	Quarantined     int
	Unnamed         int
}

// ScopeState returns the condition of a scope.
func (s *published) ScopeState(c *Scope) ScopeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := ScopeState{ResourceVersion: c.reached(), Synced: c.isListed() && (!c.cleared || !s.IsCleared()), Objects: s.live.Load().indexes.scopeSize(c)}
	state.Quarantined, state.Unnamed = s.quarantine.counts(c.mark())
	return state
}

// ScopeSize returns the number of objects of a scope.
func (s *published) ScopeSize(c *Scope) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Load().indexes.scopeSize(c)
}

// LowestVersion returns the version that all of the scopes have reached.
func (s *published) LowestVersion(scopes []*Scope) (lowest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range scopes {
		if version := c.reached(); i == 0 || feed.IsOlder(version, lowest) {
			lowest = version
		}
	}
	return lowest
}

// HasSeenDeletion reports whether the object that a key had last was deleted, within the last hour.
// It remembers up to 100,000 keys, of scopes of hashes of UIDs alone.
func (s *published) HasSeenDeletion(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.tombstones.deleted[key]
	return ok && s.config.Now().Sub(at) < deletedFor
}

// Await returns a channel that is closed once the store, or a scope of it if c is not nil, has
// reached a version, which must be valid or AnyVersion. The caller must call cancel in any case.
func (s *published) Await(c *Scope, version string) (reached <-chan struct{}, cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, now := &s.waiters, s.live.Load().version
	if c != nil {
		of, now = &c.waiters, c.reached()
		s.scopeWaiters.Add(1)
	}
	w := of.add(version)
	if version != AnyVersion && !isBefore(now, version) {
		of.wake(now)
	}
	return w.reached, func() {
		of.remove(w)
		if c != nil {
			s.scopeWaiters.Add(-1)
		}
	}
}

// AwaitPresent is Await, unless the objects are not in the store: then it waits for any version,
// and the caller must check again. A caller that waits for a scope then waits for the other scopes
// as well.
func (s *published) AwaitPresent(c *Scope, version string) (reached <-chan struct{}, cancel func()) {
	if s.Absence() != nil {
		return s.Await(nil, AnyVersion)
	}
	return s.Await(c, version)
}

// Notify wakes the callers that wait for AnyVersion: something else has changed of which they read.
func (s *published) Notify() {
	if s.waiters.n.Load() > 0 {
		s.waiters.wake(s.ResourceVersion())
	}
}

// reportUnreadable quarantines the key of an entry that could not be decoded, and reports the
// error, unless that is known. It does not quarantine the key of an entry that was deleted or
// replaced, and is read from a snapshot or the log: fetching the object again would not help its
// reader.
func (s *published) reportUnreadable(key string, ref *valueRef, err error, report func(string, error)) {
	err = fmt.Errorf("decode cached object: %w", err)
	isNew := true
	s.withMu(func() { // so that no writer replaces the entry before its key is quarantined
		if item := s.entries.Item(key); item.Value == ref {
			isNew = s.quarantine.add(key, failure{unreadable: true, err: err, scope: item.Meta.scope()})
		}
	})
	if isNew {
		report(key, &feed.EffectError{Effect: feed.Unreadable, Err: err})
	}
}

func (s *published) withMu(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// state is the entries and indexes of a store, with their version. A replacement swaps it as a
// whole.
type state struct {
	pages   *snapmap.Generation // of entries and of every index
	entries *entryMap           // published.entries once the state is live
	indexes *indexes
	version string // resourceVersion; guarded by mu
	writes  uint64 // number of changes; written under both locks
	// packedBytes is the sum of the sizes of the entries' packed objects. Its writers hold the
	// locks of entries.
	packedBytes atomic.Int64
	packs       bool // the references are to packed objects
}

// entryMap maps keys to entries.
type entryMap = snapmap.Map[valueRef, entryMeta]

// newState returns an empty state with the indexes of a set.
func newState(set *indexSet, scoped, packs bool) *state {
	pages := &snapmap.Generation{}
	return &state{pages: pages, entries: snapmap.NewMap[valueRef, entryMeta](pages), indexes: newIndexes(set, pages, scoped), packs: packs}
}

// makeRoom makes room in an empty state for the entries of another one. It takes O(entries), during
// which the caller must not hold mu.
func (s *state) makeRoom(like *snapshotData) {
	s.entries, s.indexes.like = snapmap.NewMapLike(s.pages, like.entries), like.indexes
}

// trim gives up room of a state that has far fewer entries than makeRoom has made room for.
func (s *state) trim() {
	if s.entries.Trim() {
		s.indexes.trim()
	}
}

// put puts an entry in place of the one that the state has under key, or removes that one if entry
// is nil. It returns the former entry, and whether there was one.
func (s *state) put(key string, entry *Entry) (former Entry, existed bool) {
	old := former.fromMap(s.entries.Item(key))
	s.replace(key, old, entry)
	return former, old != nil
}

// replace is put for a caller that knows the entry that the state has, which may be nil.
func (s *state) replace(key string, old, entry *Entry) {
	shared := s.indexes.move(s.entries, key, old, entry)
	if entry != nil {
		item := entry.mapItem()
		item.Meta.shared = shared
		s.entries.Put(key, item)
	} else {
		s.entries.Delete(key)
	}
	if s.packs {
		s.packedBytes.Add(entry.packedSize() - old.packedSize())
	}
}
