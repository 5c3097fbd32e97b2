package store

import (
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// Packer turns values into bytes at rest and back. It is called by several
// goroutines at once.
type Packer[V any] interface {
	// Pack returns an item's bytes at rest. value decodes the item, for a
	// packer that cannot do with what the item carries.
	Pack(item feed.Item, value func() (V, error)) ([]byte, error)
	// Unpack returns the value of bytes that Pack returned.
	Unpack(packed []byte) (V, error)
}

// Entry is one object of a collection. It is immutable.
type Entry[V any] struct {
	value V     // the zero value where the entry is packed
	meta  *meta // nil: a live value of no index, whose identity is its own
}

// meta is what an entry remembers besides its value. Entries that have nothing
// of their own to remember share one (see interner).
type meta struct {
	indexed      [][]string // the values under each index, in the order of the indexSet
	ownsIdentity bool       // uid and version hold, not what the value says
	uid, version string
	packed       []byte
}

func (e *Entry[V]) live() bool { return e.meta == nil || e.meta.packed == nil }

// indexed returns the entry's values under the index at position i.
func (e *Entry[V]) indexed(i int) []string {
	if e == nil || e.meta == nil || i >= len(e.meta.indexed) {
		return nil
	}
	return e.meta.indexed[i]
}

// Load returns an entry's value, decoding it if it is packed. One that cannot be
// decoded is reported, once while it is live, and its key quarantined, so that
// it is fetched again.
func (s *Store[V]) Load(key string, entry *Entry[V]) (V, bool) {
	if entry.live() {
		return entry.value, true
	}
	value, err := guard(func() (V, error) { return s.config.Packer.Unpack(entry.meta.packed) })
	if err == nil {
		return value, true
	}
	if s.unreadable(key, entry) {
		s.config.Report(key, fmt.Errorf("decode cached object: %w", err))
	}
	return value, false
}

// unreadable quarantines a key whose entry could not be decoded, and tells
// whether that is news. Only the live entry is to be fetched again: a deleted or
// replaced one may still be read from a snapshot or the log.
func (s *Store[V]) unreadable(key string, entry *Entry[V]) bool {
	s.mu.Lock() // or a writer could replace the entry before its key is marked
	defer s.mu.Unlock()
	if s.live.Load().entries.Get(key) != entry {
		return true
	}
	return s.quarantine.add(key, "")
}

// identity returns the UID and the resourceVersion that the server gave an entry.
func (s *Store[V]) identity(entry *Entry[V]) (uid, version string) {
	if entry.meta != nil && entry.meta.ownsIdentity {
		return entry.meta.uid, entry.meta.version
	}
	return s.config.Identity(entry.value)
}

// sameObject tells whether two entries of one key may be states of one object.
func (s *Store[V]) sameObject(a, b *Entry[V]) bool {
	uidA, _ := s.identity(a)
	uidB, _ := s.identity(b)
	return uidA == uidB || uidA == "" || uidB == ""
}

// newEntry makes an entry of an item, or of a value where there is one already.
// old, the entry it will replace, or nil, lends what has not changed.
func (s *Store[V]) newEntry(metas *interner, item feed.Item, value *V, old *Entry[V]) (*Entry[V], error) {
	set := s.live.Load().indexes.set
	decode := func() (V, error) {
		if value != nil {
			return *value, nil
		}
		decoded, err := guard(func() (V, error) { return s.config.Decode(item) })
		if err == nil {
			value = &decoded
		}
		return decoded, err
	}
	if s.config.Packer != nil {
		return s.packedEntry(set, item, decode)
	}
	live, err := decode()
	if err != nil {
		return nil, err
	}
	entry := &Entry[V]{value: live}
	uid, version := s.config.Identity(live)
	m := meta{indexed: set.valuesOf(item.Key, live, s.config.Report)}
	if uid != item.UID || version != item.ResourceVersion {
		m.ownsIdentity, m.uid, m.version = true, item.UID, item.ResourceVersion
	}
	entry.meta = metas.share(m, old.metaOrNil())
	return entry, nil
}

func (s *Store[V]) packedEntry(set *indexSet[V], item feed.Item, decode func() (V, error)) (*Entry[V], error) {
	m := &meta{ownsIdentity: true, uid: item.UID, version: item.ResourceVersion}
	if len(set.names) > 0 {
		value, err := decode()
		if err != nil {
			return nil, err
		}
		m.indexed = set.valuesOf(item.Key, value, s.config.Report)
	}
	packed, err := guard(func() ([]byte, error) { return s.config.Packer.Pack(item, decode) })
	if err != nil {
		return nil, err
	}
	if m.packed = packed; packed == nil {
		m.packed = []byte{} // nil means a live value
	}
	return &Entry[V]{meta: m}, nil
}

func (e *Entry[V]) metaOrNil() *meta {
	if e == nil {
		return nil
	}
	return e.meta
}

// interner lets entries with equal index values share their meta: the objects of
// a list come namespace by namespace, so a handful of recent ones catches nearly
// all. It forgets instead of growing.
type interner struct {
	recent [64]*meta
}

// share returns a meta equal to m: nil if there is nothing to remember, old or a
// recent one if it is the same.
func (in *interner) share(m meta, old *meta) *meta {
	if m.ownsIdentity {
		return &m
	}
	if len(m.indexed) == 0 {
		return nil
	}
	if old != nil && sameIndexed(old, &m) {
		return old
	}
	slot := &in.recent[m.hash()%uint64(len(in.recent))]
	if *slot == nil || !sameIndexed(*slot, &m) {
		*slot = &m
	}
	return *slot
}

func sameIndexed(a, b *meta) bool {
	return !a.ownsIdentity && slices.EqualFunc(a.indexed, b.indexed, slices.Equal[[]string])
}

// guard calls a function of the user and turns its panic into an error.
func guard[R any](f func() (R, error)) (result R, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("panic: %w", r)
		default:
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
