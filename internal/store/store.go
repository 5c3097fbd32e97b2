// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Store is a collection of values. Its methods are safe for concurrent use.
type Store[V any] struct {
	values[V]
	direct bool // values are pointers, and nothing is packed: Get returns the valueRef itself

	entries entryMap // of the live state; Get reads it without a lock, others hold writer or mu
	_       [64]byte // separates the CPU cache lines of reads from those that each write changes

	quarantine   quarantine
	waiters      waiters      // for the store's version
	renames      atomic.Bool  // an item had another key than its value
	scopeWaiters atomic.Int32 // number of callers that wait for the version of a scope

	absence atomic.Pointer[absence] // why the server's objects are not there; nil if they are; written under both locks

	commits sync.Mutex // serializes commits, and changes of scopes and indexes; taken before writer
	// A commit gives the writer's lock back after pieceSize keys, and calls yield, so that a goroutine
	// that waits for the lock on the same processor runs: runtime.Gosched, but in tests.
	pieceSize int
	yield     func()

	writer  sync.Mutex          // serializes writes; guards the fields below
	maker   maker               // reports by deferReport
	recent  *recentValues[V]    // nil if nothing is packed, or there is no log
	reports []report            // of the write in progress
	written map[string]struct{} // the keys that were written since a commit has forked the live state; nil if none has

	mu         sync.Mutex                  // guards the fields below, including the maps of the live state
	live       atomic.Pointer[state[V]]    // also loaded without a lock; replaced by publish
	scopes     scopes                      // at least one, if the store has a feed
	tombstones tombstones[V]               // empty if the store has one scope
	current    atomic.Pointer[Snapshot[V]] // the latest snapshot; nil after a change until the next Snapshot
	synced     atomic.Pointer[uint64]      // see Synced; nil before the first replacement; written under both locks
	vacations  uint64                      // the number of calls of Vacate; written under both locks
}

// state is what a replacement swaps.
type state[V any] struct {
	pages   *snapmap.Generation // of entries and of every index
	entries *entryMap           // Store.entries once the state is live
	indexes *indexes[V]
	version string // resourceVersion; guarded by mu
	writes  uint64 // number of changes; written under both locks
	// packedBytes is the sum of the sizes of the entries' packed objects. Its writers hold the
	// locks of entries.
	packedBytes atomic.Int64
}

// entryMap maps keys to entries.
type entryMap = snapmap.Map[valueRef, entryMeta]

// New returns an empty store.
func New[V any](config Config[V]) *Store[V] {
	s := &Store[V]{values: values[V]{config: config, arePointers: isPointer[V]()}, pieceSize: 512, yield: runtime.Gosched}
	s.direct = s.arePointers && config.Packer == nil
	s.unreadable = func(key string, ref *valueRef, err error) { s.reportUnreadable(key, ref, err, config.Report) }
	s.maker.report = s.deferReport
	if config.Packer != nil && config.Log != nil {
		s.recent = new(recentValues[V])
	}
	s.swap(newState(newIndexSet(config.Indexers), config.Scoped))
	if !config.Scoped {
		s.AddScope(&Scope{whole: true})
	}
	return s
}

// report is an error on one object, as passed to Config.Report.
type report struct {
	key string
	err error
}

// deferReport reports an error of the write in progress once the write has released its locks, so
// that Report may take its time, and may write to the store. The caller holds the writer's lock.
func (s *Store[V]) deferReport(key string, err error) {
	s.reports = append(s.reports, report{key, err})
}

// endWrite releases the writer's lock, and then reports the errors of the write in their order.
func (s *Store[V]) endWrite() { s.report(s.endWriteSilently()) }

// endWriteSilently releases the writer's lock, and returns the errors of the write.
func (s *Store[V]) endWriteSilently() (reports []report) {
	reports, s.reports = s.reports, nil
	s.writer.Unlock()
	return reports
}

// lockCommit takes the lock of commits and the writer's.
func (s *Store[V]) lockCommit() {
	s.commits.Lock()
	s.writer.Lock()
}

// unlockCommit releases the locks, and then reports the errors of the write.
func (s *Store[V]) unlockCommit() {
	s.written = nil
	reports := s.endWriteSilently()
	s.commits.Unlock()
	s.report(reports)
}

// report reports errors. The caller holds no lock.
func (s *Store[V]) report(reports []report) {
	for _, r := range reports {
		if !s.abandoned.Load() {
			s.config.Report(r.key, r.err)
		}
	}
}

func newState[V any](set *indexSet[V], scoped bool) *state[V] {
	pages := &snapmap.Generation{}
	return &state[V]{pages: pages, entries: snapmap.NewMap[valueRef, entryMeta](pages), indexes: newIndexes(set, pages, scoped)}
}

// fork returns a state with the same contents, which a commit writes beside this one. It takes O(1). The caller holds both locks.
func (from *state[V]) fork() *state[V] {
	pages := from.pages.Fork()
	fork := &state[V]{pages: pages, entries: from.entries.Fork(pages), indexes: from.indexes.fork(pages)}
	fork.packedBytes.Store(from.packedBytes.Load())
	return fork
}

// put puts an entry in place of the one that the state has under key, which it returns, or removes
// that one if entry is nil.
func (s *Store[V]) put(to *state[V], key string, entry *Entry[V]) (old *Entry[V]) {
	old = new(Entry[V]).fromMap(to.entries.Item(key))
	s.replaceIn(to, key, old, entry)
	return old
}

// replaceIn is put for a caller that knows the entry that the state has, which may be nil.
func (s *Store[V]) replaceIn(to *state[V], key string, old, entry *Entry[V]) {
	if entry != nil {
		to.entries.Put(key, entry.mapItem())
	} else {
		to.entries.Delete(key)
	}
	to.indexes.move(key, old, entry)
	if s.config.Packer != nil {
		to.packedBytes.Add(entry.packedSize() - old.packedSize())
	}
}

// dropSnapshot drops the current snapshot before a change of the live state. The caller holds both
// locks.
func (s *Store[V]) dropSnapshot(live *state[V]) {
	if s.current.Load() != nil {
		s.current.Store(nil)
	}
	live.writes++
}

// noteWritten tells a commit that has begun of a key whose entry, failure or tombstone may have changed.
// The caller holds the writer's lock.
func (s *Store[V]) noteWritten(key string) {
	if s.written != nil {
		s.written[key] = struct{}{}
	}
}

// swap makes next the live state. The caller holds both locks.
func (s *Store[V]) swap(next *state[V]) {
	s.entries.Swap(next.entries)
	next.entries = &s.entries
	s.live.Store(next)
	s.current.Store(nil)
}

// Get returns the value under key. It takes no lock unless it decodes the value, and may return the
// result of a change that no snapshot shows yet.
func (s *Store[V]) Get(key string) (V, bool) {
	ref := s.entries.Get(key)
	if ref == nil {
		var none V
		return none, false
	}
	if s.direct {
		return *(*V)(unsafe.Pointer(&ref)), true //nolint:gosec // see valueRef
	}
	return s.load(key, ref)
}

// Find returns the value under key, as Get does. If there is none, it returns KeyError. It reads
// the value again after the error, since the object may have been stored in between.
func (s *Store[V]) Find(key string) (value V, exists bool, err error) {
	if value, exists = s.Get(key); exists {
		return value, true, nil
	}
	err = s.KeyError(key)
	if value, exists = s.Get(key); exists {
		return value, true, nil
	}
	return value, false, err
}

// liveEntry sets *entry to the live entry of key and returns it, or returns nil. It takes mu: a
// caller that does not hold the writer's lock could otherwise read a partly written entryMeta.
func (s *Store[V]) liveEntry(key string, entry *Entry[V]) *Entry[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return entry.fromMap(s.entries.Item(key))
}

// HasUID reports whether the store holds an object under key that was received with this UID. An
// empty UID stands for any.
func (s *Store[V]) HasUID(key, uid string) bool {
	var entry Entry[V]
	live := s.liveEntry(key, &entry)
	return live != nil && (uid == "" || live.uid == hashUID(uid))
}

// HasOmitted reports whether the store holds the state that an object had at a resourceVersion, and
// fields of it were omitted, or may have been.
func (s *Store[V]) HasOmitted(key, uid, resourceVersion string) bool {
	var entry Entry[V]
	live := s.liveEntry(key, &entry)
	return live != nil && live.sameVersion(identityOf(uid, resourceVersion)) && live.common().omitted
}

// Len returns the number of entries.
func (s *Store[V]) Len() int { return s.entries.Len() }

// PackedBytes returns the size of the packed objects in the store.
func (s *Store[V]) PackedBytes() int64 { return s.live.Load().packedBytes.Load() }

// isFed reports whether the store belongs to an informer. Its resourceVersion then says what the
// server has sent, so that a write of the program, which may be of a later version, does not move
// it.
func (s *Store[V]) isFed() bool { return s.config.Log != nil }

// ResourceVersion returns the collection's resourceVersion that the store has reached, or "" before
// the first.
func (s *Store[V]) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Load().version
}

// Synced reports whether the first full state has been stored, and returns the number of events
// that the log held at that time, including those of that state.
func (s *Store[V]) Synced() (events uint64, ok bool) {
	if synced := s.synced.Load(); synced != nil {
		return *synced, true
	}
	return 0, false
}

// Await returns a channel that is closed once the store, or a scope of it if c is not nil, has reached
// a version, which must be valid or AnyVersion. The caller must call cancel in any case.
func (s *Store[V]) Await(c *Scope, version string) (reached <-chan struct{}, cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, now := &s.waiters, s.live.Load().version
	if c != nil {
		of, now = &c.waiters, c.reached()
	}
	w := of.add(version)
	if version != AnyVersion && !isBefore(now, version) {
		of.wake(now)
	}
	if c == nil {
		return w.reached, func() { of.remove(w) }
	}
	s.scopeWaiters.Add(1)
	return w.reached, func() {
		of.remove(w)
		s.scopeWaiters.Add(-1)
	}
}

// Notify wakes the callers that wait for AnyVersion: something else has changed of which they read.
func (s *Store[V]) Notify() {
	if s.waiters.n.Load() > 0 {
		s.waiters.wake(s.ResourceVersion())
	}
}

// notify wakes the callers whose version is reached. The caller holds mu.
func (s *Store[V]) notify() {
	if s.waiters.n.Load() > 0 {
		s.waiters.wake(s.live.Load().version)
	}
	if s.scopeWaiters.Load() == 0 {
		return
	}
	for _, c := range s.scopes.held {
		if c.waiters.n.Load() > 0 {
			c.waiters.wake(c.reached())
		}
	}
}

// KeyError returns an error that wraps ErrNotStored and the cause if the newest state received for
// key could not be stored or read. If there is none, and the key is not stored, it returns the
// error of Config.Absent.
func (s *Store[V]) KeyError(key string) error {
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
func (s *Store[V]) Failure(key string) error {
	if f, failed := s.quarantine.failed(key); failed {
		return f.wrapped()
	}
	return nil
}

// QuarantinedKeys returns the first quarantined keys in key order, at most limit, and their causes.
func (s *Store[V]) QuarantinedKeys(limit int) []KeyFailure {
	failures := s.quarantine.failures()
	slices.SortFunc(failures, func(a, b KeyFailure) int { return strings.Compare(a.Key, b.Key) })
	return failures[:min(limit, len(failures))]
}

// AnyKey returns the key of one entry or, if there is none, of one object that could not be stored.
// It returns "" if there is neither.
func (s *Store[V]) AnyKey() string {
	for key := range s.Snapshot().entries.All() {
		return key
	}
	for _, failed := range s.quarantine.failures() {
		return failed.Key
	}
	return ""
}

// QuarantineSize returns the number of quarantined keys, and the number of states without a
// readable key in the last committed list and in events since.
func (s *Store[V]) QuarantineSize() (keys, unnamed int) { return s.quarantine.counts() }

// AddIndexers adds indexes, also to a store in use. Existing objects are indexed when it returns.
// If an index of one of the names exists, AddIndexers returns an error and adds none.
func (s *Store[V]) AddIndexers(indexers map[string]IndexFunc[V]) error {
	s.lockCommit()
	defer s.unlockCommit()
	live := s.live.Load()
	for name := range indexers {
		if _, taken := live.indexes.set.positions[name]; taken {
			return fmt.Errorf("index %q already exists", name)
		}
	}
	next := s.reindexed(live, live.indexes.set.with(indexers))
	s.mu.Lock()
	defer s.mu.Unlock()
	next.version, next.writes = live.version, live.writes+1 // the entries of the old state are not shared
	s.swap(next)
	return nil
}

// Indexers returns a copy of the index functions by name.
func (s *Store[V]) Indexers() map[string]IndexFunc[V] {
	set := s.live.Load().indexes.set
	indexers := make(map[string]IndexFunc[V], len(set.names))
	for i, name := range set.names {
		indexers[name] = set.functions[i]
	}
	return indexers
}

// IndexErrors returns how often each index function has failed, without those that have not. Each
// time, the index did not find the object in that state.
func (s *Store[V]) IndexErrors() (failed map[string]uint64) {
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

// reindexed returns a copy of a state with the indexes of set, the first of which are the state's
// own. The caller holds the writer's lock.
func (s *Store[V]) reindexed(from *state[V], set *indexSet[V]) *state[V] {
	to := newState(set, from.indexes.scopes != nil)
	for key, item := range from.entries.All() {
		var entry Entry[V]
		entry.fromMap(item)
		if entry.lacksIndexOf(set) {
			s.addIndexValues(set, key, &entry)
		}
		to.entries.Put(key, entry.mapItem())
		to.indexes.move(key, nil, &entry)
	}
	to.packedBytes.Store(from.packedBytes.Load())
	return to
}

// addIndexValues adds the values of the indexes of set that entry lacks, unless its value cannot be
// decoded. No other goroutine may have access to entry. The caller holds the writer's lock.
func (s *Store[V]) addIndexValues(set *indexSet[V], key string, entry *Entry[V]) {
	value, err := s.read(entry.ref)
	if err != nil {
		s.reportUnreadable(key, entry.ref, err, s.deferReport)
		return
	}
	byIndex := slices.Clone(entry.byIndex())
	valuesAt := func(i int) ([]string, error) { return set.functions[i](value) }
	for i := len(byIndex); i < len(set.functions); i++ {
		byIndex = append(byIndex, normalize(set.call(i, key, valuesAt, s.deferReport)))
	}
	*entry = *entry.with(&s.maker.interner, func(m *sharedMeta) { m.byIndex = byIndex })
}

// MarkSynced records that the first full state has been stored: that of the scopes with which the
// informer started. Without any, there is nothing to read, whether or not the collection is served.
func (s *Store[V]) MarkSynced() {
	s.lockBoth()
	defer s.unlockBoth()
	s.markSynced()
	s.endAbsence()
	s.settle(s.live.Load())
}

// markSynced is MarkSynced for a caller that holds both locks.
func (s *Store[V]) markSynced() {
	if s.synced.Load() != nil {
		return
	}
	var events uint64
	if s.config.Log != nil {
		events = s.config.Log.Appended()
	}
	s.synced.Store(&events)
	s.scopes.oldest = nil
}

// settle applies the deletions that no longer wait, and sets the version of the store, after the
// scopes or their versions have changed. The caller holds both locks.
func (s *Store[V]) settle(live *state[V]) {
	defer s.notify()
	s.settleMoves(live)
	known := &s.scopes
	if known.oldest != nil && known.oldest.reached() == live.version {
		return
	}
	known.findOldest(s.synced.Load() != nil)
	s.tombstones.expire(known)
	version := ""
	if known.oldest != nil {
		version = known.oldest.reached()
	}
	s.moveVersion(version)
}

// moveVersion sets the version of the live state and of the current snapshot. The caller holds mu.
func (s *Store[V]) moveVersion(version string) {
	state := s.live.Load()
	if version == state.version {
		return
	}
	state.version = version
	if current := s.current.Load(); current != nil {
		s.current.Store(&Snapshot[V]{current.snapshotData, version})
	}
}

// ScopeState is the condition of a scope.
type ScopeState struct {
	ResourceVersion string
	Synced          bool
	Objects         int
	Quarantined     int
	Unnamed         int
}

// ScopeState returns the condition of a scope.
func (s *Store[V]) ScopeState(c *Scope) ScopeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := ScopeState{ResourceVersion: c.reached(), Synced: c.synced && (!c.vacated || !s.IsVacant()), Objects: s.live.Load().indexes.scopeSize(c)}
	state.Quarantined, state.Unnamed = s.quarantine.countsOf([]*Scope{c})
	return state
}

// AddScope adds a scope.
func (s *Store[V]) AddScope(added *Scope) {
	s.lockScopes()
	defer s.unlockScopes()
	s.scopes.add(added)
	s.notify()
}

// RetireScope makes a scope retire: other scopes take its objects over, and none of their entries
// moves into it.
func (s *Store[V]) RetireScope(c *Scope) {
	s.lockScopes()
	defer s.unlockScopes()
	c.retiring = true
}

// LowestVersion returns the version that all of the scopes have reached.
func (s *Store[V]) LowestVersion(scopes []*Scope) (lowest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range scopes {
		if version := c.reached(); i == 0 || feed.IsOlder(version, lowest) {
			lowest = version
		}
	}
	return lowest
}

// HaveReached reports whether scopes have been listed and have reached the version of another
// scope.
func (s *Store[V]) HaveReached(scopes []*Scope, other *Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := other.reached()
	return !slices.ContainsFunc(scopes, func(c *Scope) bool { return !c.hasReached(version) })
}

// lockScopes takes all locks, so that scopes, their relations and feeds stay while a commit pauses.
func (s *Store[V]) lockScopes() {
	s.lockCommit()
	s.mu.Lock()
}

func (s *Store[V]) unlockScopes() {
	s.mu.Unlock()
	s.unlockCommit()
}

func (s *Store[V]) lockBoth() {
	s.writer.Lock()
	s.mu.Lock()
}

func (s *Store[V]) unlockBoth() {
	s.mu.Unlock()
	s.endWrite()
}

// absence is why the objects of a collection are not in the store. err is nil if they are gone.
type absence struct{ err error }

// makeEntry sets *entry to the entry of an item, or of *value if value is not nil. It shares
// unchanged parts with old, the entry to be replaced, which may be nil.
func (s *Store[V]) makeEntry(entry *Entry[V], maker *maker, item feed.Item, value *V, old *Entry[V]) error {
	return s.makeIndexed(entry, s.live.Load().indexes.set, maker, item, value, old)
}

// makeUnindexed is makeEntry for an entry that is only compared. It calls no index function.
func (s *Store[V]) makeUnindexed(entry *Entry[V], maker *maker, item feed.Item, value *V, old *Entry[V]) error {
	return s.makeIndexed(entry, &indexSet[V]{}, maker, item, value, old)
}

// FindStored is Find without decoding.
func (s *Store[V]) FindStored(key string) (stored Stored[V], exists bool, err error) {
	if ref := s.entries.Get(key); ref != nil {
		return s.stored(ref), true, nil
	}
	err = s.KeyError(key)
	if ref := s.entries.Get(key); ref != nil { // stored in between
		return s.stored(ref), true, nil
	}
	return stored, false, err
}

// reportUnreadable quarantines the key of an entry that could not be decoded, and reports the
// error.
func (s *Store[V]) reportUnreadable(key string, ref *valueRef, err error, report func(string, error)) {
	err = fmt.Errorf("decode cached object: %w", err)
	if s.quarantineUnreadable(key, ref, err) {
		report(key, &feed.EffectError{Effect: feed.Unreadable, Err: err})
	}
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
