package store

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Store is a collection of values. Its methods are safe for concurrent use.
type Store[V any] struct {
	config            Config[V]
	valuesArePointers bool // V is a pointer type, so a value is its own valueRef
	direct            bool // valuesArePointers, and nothing is packed: Get returns the valueRef itself

	entries entryMap // of the live state; Get reads it without a lock, others hold writer or mu
	_       [64]byte // separates the CPU cache lines of reads from those that each write changes

	quarantine quarantine
	yielding   atomic.Int32 // number of readers in yieldAfterLongRead

	keepsUnpacked atomic.Bool // a value could not be packed, see reportNotPacked
	renames       atomic.Bool // an item had another key than its value, see recordKeys

	writer  sync.Mutex // serializes writes; guards maker and reports
	maker   maker      // reports by deferReport
	reports []report   // of the write in progress

	mu      sync.Mutex                  // guards the fields below, including the maps of the live state
	live    atomic.Pointer[state[V]]    // also loaded without a lock; replaced by publish
	current atomic.Pointer[Snapshot[V]] // the latest snapshot; nil after a change until the next Snapshot
	synced  atomic.Pointer[uint64]      // see Synced; nil before the first replacement; written under both locks
}

// state is what a replacement swaps.
type state[V any] struct {
	pages   *snapmap.Generation // of entries and of every index
	entries *entryMap           // Store.entries once the state is live
	indexes *indexes[V]
	version string // resourceVersion; guarded by mu
	writes  uint64 // number of changes; written under both locks
}

// entryMap maps keys to entries.
type entryMap = snapmap.Map[valueRef, entryMeta]

// New returns an empty store.
func New[V any](config Config[V]) *Store[V] {
	s := &Store[V]{config: config, valuesArePointers: isPointer[V]()}
	s.direct = s.valuesArePointers && config.Packer == nil
	s.maker.report = s.deferReport
	s.publish(newState(newIndexSet(config.Indexers)))
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
func (s *Store[V]) endWrite() {
	reports := s.reports
	s.reports = nil
	s.writer.Unlock()
	for _, r := range reports {
		s.config.Report(r.key, r.err)
	}
}

func newState[V any](set *indexSet[V]) *state[V] {
	pages := &snapmap.Generation{}
	return &state[V]{pages: pages, entries: snapmap.NewMap[valueRef, entryMeta](pages), indexes: newIndexes(set, pages)}
}

// publish makes next the live state. The caller holds both locks.
func (s *Store[V]) publish(next *state[V]) {
	s.entries.Swap(next.entries)
	next.entries = &s.entries
	s.live.Store(next)
	s.current.Store(nil)
}

// Get returns the value under key. It takes no lock, and may return the result of a change that no
// snapshot shows yet.
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

// Find returns the value under key, as Get does. If there is none, it returns KeyError. It reads the
// value again after the error, since the object may have been stored in between.
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

// Len returns the number of entries.
func (s *Store[V]) Len() int { return s.entries.Len() }

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
// server has sent, so that a write of the program, which may be of a later version, does not move it.
func (s *Store[V]) isFed() bool { return s.config.Log != nil }

// origin is who has sent a state. Only a state of the server shows that a key which could not be
// stored can be stored again.
type origin int

const (
	fromServer origin = iota
	fromProgram
)

// programOrigin returns the origin of a write of the program: in a store without a feed, it takes the
// place of the server.
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
		s.remove(key, old, nil, s.writtenVersion(version), s.programOrigin())
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
// read, or has equal contents. Otherwise the server has used the version again after a restore whose
// first state of the object could not be stored, or the program has written old.
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
}

// remove deletes an entry and appends the deletion to the log. final is the state at deletion, nil
// if unknown. The caller holds the writer's lock.
func (s *Store[V]) remove(key string, old, final *Entry[V], version string, by origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by == fromServer {
		s.quarantine.release(key)
	}
	state := s.prepareChange(version)
	state.entries.Delete(key)
	state.indexes.move(key, old, nil)
	if s.config.Log != nil {
		s.config.Log.AppendOne(Change[V]{Key: key, Old: old, Final: final})
	}
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
