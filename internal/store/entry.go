package store

import (
	"fmt"
	"hash/maphash"

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
	value V      // the zero value where the entry is packed
	meta  *meta  // nil: a live value of no index, whose identity is its own
	stamp uint64 // of the identity of a live value when it came
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

// indexed returns the entry's values under each index, none of a nil entry.
func (e *Entry[V]) indexed() [][]string {
	if e == nil || e.meta == nil {
		return nil
	}
	return e.meta.indexed
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

// identity returns the UID and the resourceVersion that the server gave an entry;
// nothing, with which everything is news, where a caller has written others into
// the value since.
func (s *Store[V]) identity(entry *Entry[V]) (uid, version string) {
	if entry.meta != nil && entry.meta.ownsIdentity {
		return entry.meta.uid, entry.meta.version
	}
	uid, version = s.config.Identity(entry.value)
	if stampOf(uid, version) != entry.stamp {
		return "", ""
	}
	return uid, version
}

// stampOf returns a hash of an identity: the entries of live values remember
// eight bytes of it instead of two strings.
func stampOf(uid, version string) uint64 {
	const odd = 0x9e3779b97f4a7c15 // so that two equal strings do not cancel out
	return maphash.String(hashSeed, uid)*odd + maphash.String(hashSeed, version)
}

// sameObject tells whether two entries of one key may be states of one object.
func (s *Store[V]) sameObject(a, b *Entry[V]) bool {
	uidA, _ := s.identity(a)
	uidB, _ := s.identity(b)
	return uidA == uidB || uidA == "" || uidB == ""
}

// newEntry makes an entry of an item, or of its value where there is one already.
// old, the entry it will replace, or nil, lends what has not changed.
func (s *Store[V]) newEntry(metas *interner, item feed.Item, value *V, old *Entry[V]) (*Entry[V], error) {
	set := s.live.Load().indexes.set
	if s.config.Packer != nil {
		return s.packedEntry(set, metas, item, value, old)
	}
	live, err := s.valueOf(item, value)
	if err != nil {
		return nil, err
	}
	indexed := set.valuesOf(item.Key, live, old.indexed(), s.config.Report)
	uid, version := s.config.Identity(live)
	entry := &Entry[V]{value: live, stamp: stampOf(uid, version)}
	if uid != item.UID || version != item.ResourceVersion {
		entry.meta = &meta{indexed: metas.values(indexed, old.metaOrNil()), ownsIdentity: true, uid: item.UID, version: item.ResourceVersion}
	} else {
		entry.meta = metas.share(indexed, old.metaOrNil())
	}
	return entry, nil
}

// valueOf returns an item's value: *value, or decoded where that is nil.
func (s *Store[V]) valueOf(item feed.Item, value *V) (V, error) {
	if value != nil {
		return *value, nil
	}
	return guard(func() (V, error) { return s.config.Decode(item) })
}

func (s *Store[V]) packedEntry(set *indexSet[V], metas *interner, item feed.Item, value *V, old *Entry[V]) (*Entry[V], error) {
	decode := func() (V, error) { // once
		v, err := s.valueOf(item, value)
		if err == nil {
			value = &v
		}
		return v, err
	}
	m := &meta{ownsIdentity: true, uid: item.UID, version: item.ResourceVersion}
	if len(set.names) > 0 {
		value, err := decode()
		if err != nil {
			return nil, err
		}
		indexed := set.valuesOf(item.Key, value, old.indexed(), s.config.Report)
		m.indexed = metas.values(indexed, old.metaOrNil())
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
