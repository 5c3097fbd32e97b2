package store

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Config is what a Store has to know about the values it keeps.
type Config[V any] struct {
	// Key returns a value's key. Required.
	Key func(V) (string, error)
	// ItemKeys says that an item's own key is what Key returns for its value,
	// so that nothing needs decoding to find the entry.
	ItemKeys bool
	// Identity returns a value's UID and resourceVersion, empty where it has
	// none. Required.
	Identity func(V) (uid, resourceVersion string)
	// Labels returns a value's labels. Required by who selects by them.
	Labels func(V) map[string]string
	// Decode makes a value of an item: decoded, transformed, checked. Required
	// by stores that are fed items.
	Decode func(feed.Item) (V, error)
	// Packer, if set, keeps entries as bytes. Values are then decoded when they are
	// read, and remembered as long as somebody holds them, where V is a pointer.
	Packer Packer[V]
	// Pointers, where V is an interface, is the pointer type that all values of Packer
	// have: those are remembered, too.
	PointerType reflect.Type
	// Indexers are the indexes to begin with.
	Indexers map[string]IndexFunc[V]
	// ItemIndexers say how to do without a value in some of Indexers: what an index
	// finds in an item. They are asked where the value would have to be decoded.
	ItemIndexers map[string]func(feed.Item) ([]string, error)
	// Report receives what went wrong with one object. Several goroutines call
	// it, readers of packed entries among them, some with the writer's lock
	// held: it may read the store but not write to it. Required.
	Report func(key string, err error)
	// TellUnchanged makes a replacement tell of the objects that it leaves as they were,
	// too, as of updates to themselves.
	EmitUnchanged bool
	// Log, if set, receives every change.
	Log *eventlog.Log[Change[V]]
}

// Change is one event of the log: an addition (Old is nil), an update, or a
// deletion (New is nil). Final is the state in which an object was deleted, nil
// where that was not told and Old is the last that is known.
type Change[V any] struct {
	Key      string
	Old, New *Entry[V]
	Final    *Entry[V]
	Initial  bool // part of the first full state
}

// Store is a collection of values. Its methods are safe for concurrent use.
type Store[V any] struct {
	config            Config[V]
	valuesArePointers bool // values are pointers, and their own faces
	direct            bool // and nothing is packed: a face is all that Get needs

	entries entryMap // of the live state: Get reads it without a lock, others under writer or mu
	_       [64]byte // what each write changes is on other lines of the CPU's cache than what each read looks at

	quarantine quarantine
	yielding   atomic.Int32 // readers that have given way (see giveWay)

	writer   sync.Mutex // one write at a time; guards metas
	interner valueInterner

	mu      sync.Mutex                  // guards what follows, the maps inside included
	live    atomic.Pointer[state[V]]    // read without mu by Get; swapped by a replacement
	current atomic.Pointer[Snapshot[V]] // the state as it is, once somebody asked; nil after a change
	synced  atomic.Pointer[uint64]      // events in the log once the first replacement was; nil before it; written under both locks
}

// state is everything a replacement swaps.
type state[V any] struct {
	pages   *snapmap.Generation // of entries and of every index
	entries *entryMap           // Store.entries once the state is live
	indexes *indexes[V]
	version string // resourceVersion; guarded by mu
	writes  uint64 // changes so far; written under both locks
}

// entryMap is the map of the entries' parts.
type entryMap = snapmap.Map[valueRef, entryMeta]

// New returns an empty store.
func New[V any](config Config[V]) *Store[V] {
	s := &Store[V]{config: config, valuesArePointers: isPointer[V]()}
	s.direct = s.valuesArePointers && config.Packer == nil
	s.publish(newState(newIndexSet(config.Indexers)))
	return s
}

func newState[V any](set *indexSet[V]) *state[V] {
	pages := &snapmap.Generation{}
	return &state[V]{pages: pages, entries: snapmap.NewMap[valueRef, entryMeta](pages), indexes: newIndexes(set, pages)}
}

// enliven makes a state the live one. Both locks are held.
func (s *Store[V]) publish(next *state[V]) {
	s.entries.Swap(next.entries)
	next.entries = &s.entries
	s.live.Store(next)
	s.current.Store(nil)
}

// Get returns the value under key. It takes no lock, and may see a change that
// no snapshot shows yet.
func (s *Store[V]) Get(key string) (V, bool) {
	f := s.entries.Get(key)
	if f == nil {
		var none V
		return none, false
	}
	if s.direct {
		return *(*V)(unsafe.Pointer(&f)), true //nolint:gosec // see face
	}
	return s.load(key, f)
}

// fetch makes *entry the live entry of key and returns it, or nil. It is for those
// who do not hold the writer's lock, whom a bare look at the map could show half of
// a note.
func (s *Store[V]) liveEntry(key string, entry *Entry[V]) *Entry[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return entry.fromMap(s.entries.Item(key))
}

// Len returns the number of entries.
func (s *Store[V]) Len() int { return s.entries.Len() }

// ResourceVersion returns the version of the collection that the store has
// reached, empty before the first.
func (s *Store[V]) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Load().version
}

// Filled tells whether the store has been given a first full state, and how many
// events its log held then, that state included.
func (s *Store[V]) Synced() (events uint64, ok bool) {
	if filled := s.synced.Load(); filled != nil {
		return *filled, true
	}
	return 0, false
}

// Lacks tells whether the newest state that was seen under key could not be stored.
func (s *Store[V]) IsQuarantined(key string) bool {
	_, failed := s.quarantine.failed(key)
	return failed
}

// Quarantined returns how many keys wait for a state that can be stored.
func (s *Store[V]) Quarantined() int { return s.quarantine.len() }

// Put adds or replaces a value, whatever its version.
func (s *Store[V]) Put(value V) error {
	key, err := guard(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	uid, version := s.config.Identity(value)
	pair := new(entryPair[V])
	old := pair.old.fromMap(s.entries.Item(key))
	if err := s.makeEntry(&pair.next, &s.interner, feed.Item{Key: key, UID: uid, ResourceVersion: version}, &value, old); err != nil {
		return err
	}
	tell := update
	if old != nil && !old.sameObject(pair.next.identity) {
		tell = recreate
	}
	s.set(key, old, &pair.next, version, tell)
	return nil
}

// Remove deletes the entry that has the value's key. A key that is not there is
// no error.
func (s *Store[V]) Remove(value V) error {
	key, err := guard(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	if old := new(Entry[V]).fromMap(s.entries.Item(key)); old != nil {
		_, version := s.config.Identity(value)
		s.remove(key, old, nil, version)
	}
	return nil
}

// telling is how the log hears of an entry that is put in place of another.
type changeKind int

const (
	update   changeKind = iota // an addition or an update
	recreate                   // another object under the same key: a deletion and an addition
	silent                     // the same state, repaired
)

// tellOf says how to tell of a state in place of another.
func changeKindOf(old, next identity) changeKind {
	switch {
	case !old.sameObject(next):
		return recreate
	case old.sameVersion(next):
		return silent
	}
	return update
}

// set puts an entry in place of old, which may be nil. The writer's lock is
// held.
func (s *Store[V]) set(key string, old, entry *Entry[V], version string, tell changeKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quarantine.release(key)
	state := s.prepareChange(version)
	state.entries.Put(key, entry.mapItem())
	state.indexes.move(key, old, entry)
	switch log := s.config.Log; {
	case log == nil || tell == silent:
	case tell == recreate:
		log.Append([]Change[V]{{Key: key, Old: old}, {Key: key, New: entry}})
	default:
		log.AppendOne(Change[V]{Key: key, Old: old, New: entry})
	}
}

// remove takes an entry out; final is the state in which it was deleted, nil if
// that is not known. The writer's lock is held.
func (s *Store[V]) remove(key string, old, final *Entry[V], version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quarantine.release(key)
	state := s.prepareChange(version)
	state.entries.Delete(key)
	state.indexes.move(key, old, nil)
	if s.config.Log != nil {
		s.config.Log.AppendOne(Change[V]{Key: key, Old: old, Final: final})
	}
}

// change prepares the live state for a change at a version. mu is held.
func (s *Store[V]) prepareChange(version string) *state[V] {
	if s.current.Load() != nil {
		s.current.Store(nil)
	}
	state := s.live.Load()
	state.writes++
	state.version = newer(state.version, version)
	return state
}

// newer returns the later of two versions of a collection: an empty one moves
// nothing, and versions that cannot be compared are taken as they come.
func newer(current, version string) string {
	if version == "" || older(version, current) {
		return current
	}
	return version
}
