package store

import (
	"fmt"
	"hash/maphash"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Entry is one object of a collection. It is immutable. The map has its parts, the
// face as the value and the rest as the note.
type Entry[V any] struct {
	face *face
	note
}

// note is what an entry remembers besides its value.
type note struct {
	meta  *meta  // nil: a live value of no index, whose identity is its own
	stamp uint64 // of the identity of a live value when it came
}

// meta is what a note points to. Entries that have nothing of their own to remember
// share one (see interner).
type meta struct {
	indexed      [][]string // the values under each index, in the order of the indexSet
	ownsIdentity bool       // uid and version hold, not what the value says
	uid, version string
}

// item is an entry as it lies in the map.
type item = snapmap.Item[face, note]

func (e *Entry[V]) item() item { return item{Value: e.face, Note: e.note} }

// entryOf makes *e the entry that lies in the map, and returns e, or nil if there is
// none.
func (e *Entry[V]) entryOf(in item) *Entry[V] {
	if in.Value == nil {
		return nil
	}
	e.face, e.note = in.Value, in.Note
	return e
}

// pair is the room for the entries of one change, which the log keeps together.
type pair[V any] struct{ old, next Entry[V] }

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
func (s *Store[V]) Load(key string, entry *Entry[V]) (V, bool) { return s.load(key, entry.face) }

func (s *Store[V]) load(key string, f *face) (V, bool) {
	if s.config.Packer == nil {
		return s.value(f), true
	}
	p := packedOf(f)
	if value, ok := s.recall(p); ok {
		return value, true
	}
	value, err := guard(func() (V, error) { return s.config.Packer.Unpack(p.object) })
	if err == nil {
		return s.remember(p, value), true
	}
	if s.unreadable(key, f) {
		s.config.Report(key, fmt.Errorf("decode cached object: %w", err))
	}
	return value, false
}

// unreadable quarantines a key whose entry could not be decoded, and tells
// whether that is news. Only the live entry is to be fetched again: a deleted or
// replaced one may still be read from a snapshot or the log.
func (s *Store[V]) unreadable(key string, f *face) bool {
	s.mu.Lock() // or a writer could replace the entry before its key is marked
	defer s.mu.Unlock()
	if s.entries.Get(key) != f {
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
	if s.config.Packer != nil {
		return packedOf(entry.face).identity()
	}
	uid, version = s.config.Identity(s.value(entry.face))
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

// makeEntry makes *entry the entry of an item, or of its value where there is one
// already. old, the entry it will replace, or nil, lends what has not changed.
func (s *Store[V]) makeEntry(entry *Entry[V], metas *interner, item feed.Item, value *V, old *Entry[V]) error {
	set := s.live.Load().indexes.set
	if s.config.Packer != nil {
		return s.packEntry(entry, set, metas, item, value, old)
	}
	live, err := s.valueOf(item, value)
	if err != nil {
		return err
	}
	ask := func(i int) ([]string, error) { return set.functions[i](live) }
	indexed := set.valuesOf(item.Key, ask, old.indexed(), s.config.Report)
	uid, version := s.config.Identity(live)
	entry.face, entry.stamp = s.faceOf(live), stampOf(uid, version)
	if uid != item.UID || version != item.ResourceVersion {
		entry.meta = &meta{indexed: metas.values(indexed, old.metaOrNil()), ownsIdentity: true, uid: item.UID, version: item.ResourceVersion}
	} else {
		entry.meta = metas.share(indexed, old.metaOrNil())
	}
	return nil
}

// valueOf returns an item's value: *value, or decoded where that is nil.
func (s *Store[V]) valueOf(item feed.Item, value *V) (V, error) {
	if value != nil {
		return *value, nil
	}
	return guard(func() (V, error) { return s.config.Decode(item) })
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
