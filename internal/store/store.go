// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
)

// Store is a collection of values. Its methods are safe for concurrent use.
type Store struct {
	published
	renames atomic.Bool // an item had another key than its value

	commits sync.Mutex // serializes commits, and changes of scopes and indexes; taken before writer
	// A commit in pieces gives the writer's lock back after pieceSize keys, and calls yield, so
	// that a goroutine that waits for the lock on the same processor runs: runtime.Gosched, but in
	// tests.
	pieceSize int
	yield     func()

	writer  sync.Mutex       // serializes writes; guards the fields below
	maker   maker            // reports by deferReport
	recent  *recentValues    // nil if nothing is packed, or there is no log
	reports []deferredReport // of the write in progress
}

// New returns an empty store.
func New(config Config) *Store {
	s := &Store{pieceSize: 512, yield: runtime.Gosched}
	s.config = config
	if config.PointerType != nil {
		s.nilPointer, s.direct = reflect.Zero(config.PointerType).Interface(), config.Packer == nil
	}
	s.unreadable = func(key string, ref *valueRef, err error) { s.reportUnreadable(key, ref, err, config.Report) }
	s.maker.report = s.deferReport
	s.scopes.byNamespace = make(map[string][]*Scope)
	if config.Packer != nil && config.Log != nil {
		s.recent = new(recentValues)
	}
	s.setLive(newState(new(indexSet).with(config.Indexers), s.isScoped(), config.Packer != nil))
	if !s.isScoped() {
		s.scopes.add(&Scope{whole: true})
	}
	return s
}

// deferredReport is an error on one object, as passed to Config.Report.
type deferredReport struct {
	key string
	err error
}

// deferReport reports an error of the write in progress once the write has released its locks, so
// that Report may take its time, and may write to the store. The caller holds the writer's lock.
func (s *Store) deferReport(key string, err error) {
	s.reports = append(s.reports, deferredReport{key, err})
}

// endWrite releases the writer's lock, and then reports the errors of the write in their order.
func (s *Store) endWrite() { s.report(s.endWriteSilently()) }

// endWriteSilently releases the writer's lock, and returns the errors of the write.
func (s *Store) endWriteSilently() (reports []deferredReport) {
	reports, s.reports = s.reports, nil
	s.writer.Unlock()
	return reports
}

// lockCommit takes the lock of commits and the writer's.
func (s *Store) lockCommit() {
	s.commits.Lock()
	s.writer.Lock()
}

// unlockCommit releases the locks, and then reports the errors of the write.
func (s *Store) unlockCommit() {
	reports := s.endWriteSilently()
	s.commits.Unlock()
	s.report(reports)
}

// report reports errors. The caller holds no lock.
func (s *Store) report(reports []deferredReport) {
	for _, r := range reports {
		if !s.abandoned.Load() {
			s.config.Report(r.key, r.err)
		}
	}
}

// AddIndexers adds indexes, also to a store in use. Existing objects are indexed when it returns.
// If an index of one of the names exists, AddIndexers returns an error and adds none.
func (s *Store) AddIndexers(indexers map[string]IndexFunc) error {
	s.lockCommit()
	defer s.unlockCommit()
	live := s.live.Load()
	for name := range indexers {
		if slices.Contains(live.indexes.set.names, name) {
			return fmt.Errorf("index %q already exists", name)
		}
	}
	next := s.reindexed(live, live.indexes.set.with(indexers))
	s.mu.Lock()
	defer s.mu.Unlock()
	next.version, next.writes = live.version, live.writes+1 // the entries of the old state are not shared
	s.setLive(next)
	return nil
}

// reindexed returns a copy of a state with the indexes of set, the first of which are the state's
// own. The caller holds the writer's lock.
func (s *Store) reindexed(from *state, set *indexSet) *state {
	to := newState(set, from.indexes.scopes != nil, from.packs)
	to.makeRoom(&snapshotData{entries: from.entries.View()})
	for key, item := range from.entries.All() {
		var entry Entry
		entry.fromMap(item)
		if entry.lacksIndexOf(set) {
			s.addIndexValues(set, key, &entry)
		}
		to.replace(key, nil, &entry)
	}
	return to
}

// addIndexValues adds the values of the indexes of set that entry lacks, unless its value cannot be
// decoded. No other goroutine may have access to entry. The caller holds the writer's lock.
func (s *Store) addIndexValues(set *indexSet, key string, entry *Entry) {
	value, err := s.read(entry.ref, true)
	if err != nil {
		s.reportUnreadable(key, entry.ref, err, s.deferReport)
		return
	}
	valuesAt := func(i int) ([]string, error) { return set.functions[i](value) }
	for i := entry.shared.indexes(); i < len(set.functions); i++ {
		values := set.call(i, key, valuesAt, s.deferReport)
		entry.shared = &sharedMeta{entry.shared, newIndexValues(values, nil)}
	}
}

// MarkSynced records that the first full state has been stored: that of the scopes with which the
// informer started. Without any, there is nothing to read, whether or not the collection is served.
func (s *Store) MarkSynced() {
	s.lockBoth()
	defer s.unlockBoth()
	s.markSynced()
	s.endAbsence()
	s.settle()
}

// lockScopes takes all locks, so that scopes, their relations and feeds stay while a commit pauses.
func (s *Store) lockScopes() {
	s.lockCommit()
	s.mu.Lock()
}

func (s *Store) unlockScopes() {
	s.mu.Unlock()
	s.unlockCommit()
}

func (s *Store) lockBoth() {
	s.writer.Lock()
	s.mu.Lock()
}

func (s *Store) unlockBoth() {
	s.mu.Unlock()
	s.endWrite()
}

// makeEntry sets *entry to the entry of an item, or of *value if value is not nil. It shares
// unchanged parts with old, the entry to be replaced, which may be nil.
func (s *Store) makeEntry(entry *Entry, maker *maker, item feed.Item, value *any, old *Entry) error {
	return s.makeIndexed(entry, s.live.Load().indexes.set, maker, item, value, old)
}

// makeUnindexed is makeEntry for an entry that is only compared. It calls no index function.
func (s *Store) makeUnindexed(entry *Entry, maker *maker, item feed.Item, value *any, old *Entry) error {
	return s.makeIndexed(entry, &indexSet{}, maker, item, value, old)
}

// Expect makes why the error of reads until all scopes have been listed again, if the objects were
// gone: the server serves the collection again, and may have others.
func (s *Store) Expect(why error) {
	isGone := func(absent *error) bool { return absent != nil && *absent == nil }
	if !isGone(s.absence.Load()) {
		return
	}
	s.lockBoth()
	defer s.unlockBoth()
	if isGone(s.absence.Load()) {
		s.absence.Store(&why)
		s.current.Store(nil)
	}
}
