package store

import (
	"runtime"
	"sync/atomic"
	"weak"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
)

// Packer turns values into bytes at rest and back. It is called by several
// goroutines at once.
type Packer[V any] interface {
	// Pack packs an item. old is what it takes the place of, zero if that is
	// nothing; value decodes the item, for a packer that cannot do with what the
	// item carries.
	Pack(item feed.Item, old pack.Object, value func() (V, error)) (pack.Object, error)
	// Unpack returns the value of an object that Pack returned.
	Unpack(object pack.Object) (V, error)
}

// packed is an entry's value at rest. All but live is written once.
type packed struct {
	object pack.Object
	// live is the value as long as somebody holds it whom it was given to.
	live atomic.Pointer[weak.Pointer[valueRef]]
}

// packEntry makes *entry that of an item at rest. The value is decoded for it only
// if an index has to see it, or the packer wants it.
func (s *Store[V]) packEntry(entry *Entry[V], set *indexSet[V], interner *valueInterner, item feed.Item, value *V, old *Entry[V]) error {
	decode := func() (V, error) { // once
		v, err := s.valueOf(item, value)
		if err == nil {
			value = &v
		}
		return v, err
	}
	indexed, err := s.indexPacked(set, item, decode, old)
	if err != nil {
		return err
	}
	var before pack.Object
	if old != nil {
		before = packedOf(old.ref).object
	}
	object, err := guard(func() (pack.Object, error) { return s.config.Packer.Pack(item, before, decode) })
	if err != nil {
		return err
	}
	entry.ref = (&packed{object: object}).ref()
	entry.entryMeta = entryMeta{interner.intern(indexed, old.sharedValues()), identityOf(item.UID, item.ResourceVersion)}
	return nil
}

// indexPacked returns the values of an item under every index. Its value is decoded
// for the indexes that have no other way to know; that it cannot be is the item's
// error, not an index's.
func (s *Store[V]) indexPacked(set *indexSet[V], item feed.Item, decode func() (V, error), old *Entry[V]) ([][]string, error) {
	for _, name := range set.names {
		if s.config.ItemIndexers[name] == nil {
			if _, err := decode(); err != nil {
				return nil, err
			}
			break
		}
	}
	valuesAt := func(i int) ([]string, error) {
		if index := s.config.ItemIndexers[set.names[i]]; index != nil {
			return index(item)
		}
		value, err := decode()
		if err != nil {
			return nil, err
		}
		return set.functions[i](value)
	}
	return set.valuesOf(item.Key, valuesAt, old.byIndex(), s.config.Report), nil
}

// labelReader is what a Packer may be, too: it reads the labels of a packed object
// without decoding it.
type labelReader interface {
	Labels(object pack.Object) (map[string]string, error)
}

// loadIf is load for a value whose labels match, or for any if matches is nil. A
// packed one that does not is not decoded, if the packer can read labels.
func (s *Store[V]) loadMatching(key string, f *valueRef, matches func(map[string]string) bool) (value V, ok bool) {
	if matches == nil {
		return s.load(key, f)
	}
	if s.config.Packer != nil {
		if other, read := s.packedLabels(f); read && !matches(other) {
			return value, false
		}
	}
	if value, ok = s.load(key, f); ok {
		ok = matches(s.config.Labels(value))
	}
	return value, ok
}

// labelsAtRest reads the labels of an entry whose value nobody holds. With an error
// the value has to be decoded, which tells what is wrong.
func (s *Store[V]) packedLabels(f *valueRef) (labels map[string]string, ok bool) {
	reader, ok := s.config.Packer.(labelReader)
	if !ok {
		return nil, false
	}
	p := packedOf(f)
	if _, held := s.loadLive(p); held {
		return nil, false
	}
	labels, err := guard(func() (map[string]string, error) { return reader.Labels(p.object) })
	return labels, err == nil
}

// recall returns the value if somebody still has it.
func (s *Store[V]) loadLive(p *packed) (value V, ok bool) {
	if handle := p.live.Load(); handle != nil {
		if f := handle.Value(); f != nil {
			return s.fromPointee(f), true
		}
	}
	return value, false
}

// remember notes a value that was decoded, and returns it, or the one that another
// reader was faster with: all who hold an object at a time hold the same.
func (s *Store[V]) storeLive(p *packed, value V) V {
	f := s.pointee(value)
	if f == nil {
		return value
	}
	handle := weak.Make(f)
	for {
		other := p.live.Load()
		if other != nil {
			if f := other.Value(); f != nil {
				return s.fromPointee(f)
			}
		}
		if p.live.CompareAndSwap(other, &handle) {
			break
		}
	}
	runtime.AddCleanup(f, clearLive, liveHandle{p, &handle})
	return value
}

// remembered is a value that a packed entry knows.
type liveHandle struct {
	by     *packed
	handle *weak.Pointer[valueRef]
}

// forget frees the handle of a value that nobody holds any more.
func clearLive(r liveHandle) { r.by.live.CompareAndSwap(r.handle, nil) }
