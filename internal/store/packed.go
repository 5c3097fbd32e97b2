// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
)

// Packer packs values into bytes and unpacks them. Its methods must be safe for concurrent use.
type Packer[V any] interface {
	// Pack packs an item. old is the packed object that it replaces, or the zero Object. value
	// decodes the item, for a packer that needs the value. An error that wraps pack.ErrUnsupported,
	// after a call of value, makes the store keep the value as it is.
	Pack(item feed.Item, old pack.Object, value func() (V, error)) (pack.Object, error)
	// Unpack returns the value of an object that Pack returned. size is an estimate of the bytes
	// of memory that the value takes.
	Unpack(object pack.Object) (value V, size int, err error)
}

// packed is an entry's packed value.
type packed struct {
	object pack.Object // immutable
	// live is the handle of the decoded object; it is nil once nothing references the object. It is
	// &notPacked for a value that could not be packed: the packed is then that of an unpacked.
	live atomic.Pointer[decoded]
}

// unpacked is an entry's value that the packer does not support.
type unpacked[V any] struct {
	packed
	value V
}

var notPacked decoded //nolint:gochecknoglobals // only its address is used

// keepUnpacked returns the reference of a value that the packer does not support.
func (s *Store[V]) keepUnpacked(value V) *valueRef {
	u := &unpacked[V]{value: value}
	u.live.Store(&notPacked)
	return u.ref()
}

// unpackedValue returns the value of an entry that the packer does not support.
func (s *Store[V]) unpackedValue(p *packed) (value V, ok bool) {
	if p.live.Load() != &notPacked {
		return value, false
	}
	return (*unpacked[V])(unsafe.Pointer(p)).value, true //nolint:gosec // made by keepUnpacked
}

// reportNotPacked reports, once, that the store keeps values unpacked.
func (s *Store[V]) reportNotPacked(maker *maker, key string, err error) {
	if s.keepsUnpacked.CompareAndSwap(false, true) {
		maker.report(key, &feed.EffectError{Effect: feed.NotPacked, Err: err})
	}
}

// packEntry is makeEntry for a store that packs. It decodes the value only if an index function or
// the packer needs it.
func (s *Store[V]) packEntry(entry *Entry[V], set *indexSet[V], maker *maker, item feed.Item, value *V, old *Entry[V]) error {
	decode := func() (V, error) { // once
		v, err := s.valueOf(item, value)
		if err == nil {
			value = &v
		}
		return v, err
	}
	byIndex, err := s.indexPacked(set, maker, item, decode, old)
	if err != nil {
		return err
	}
	var before pack.Object
	if old != nil {
		before = packedOf(old.ref).object
	}
	object, err := feed.CatchPanic(func() (pack.Object, error) { return s.config.Packer.Pack(item, before, decode) })
	switch {
	case err == nil:
		entry.ref = (&packed{object: object}).ref()
	case value != nil && errors.Is(err, pack.ErrUnsupported):
		entry.ref = s.keepUnpacked(*value)
		s.reportNotPacked(maker, item.Key, err)
	default:
		return err
	}
	entry.entryMeta = maker.meta(item, byIndex, old.sharedValues())
	return nil
}

// indexPacked returns an item's values under each index. It decodes the item if an index has no
// item indexer; a failure to decode is returned as the item's error, not reported as the index's.
func (s *Store[V]) indexPacked(set *indexSet[V], maker *maker, item feed.Item, decode func() (V, error), old *Entry[V]) ([][]string, error) {
	itemIndexers := s.itemIndexers()
	for _, name := range set.names {
		if itemIndexers[name] == nil {
			if _, err := decode(); err != nil {
				return nil, err
			}
			break
		}
	}
	valuesAt := func(i int) ([]string, error) {
		if index := itemIndexers[set.names[i]]; index != nil {
			return index(item)
		}
		value, err := decode()
		if err != nil {
			return nil, err
		}
		return set.functions[i](value)
	}
	return set.valuesOf(item.Key, valuesAt, old.byIndex(), maker.report), nil
}

// IsPacked reports whether values are decoded when they are read.
func (s *Store[V]) IsPacked() bool { return s.config.Packer != nil }

// labelReader is implemented by a Packer that can read labels without unpacking the object.
type labelReader interface {
	// Labels returns the labels of an object that Pack returned.
	Labels(object pack.Object) (map[string]string, error)
}

// loadMatching is load for a value whose labels match; every value matches if matches is nil. If
// the packer is a labelReader, it does not decode a value that does not match.
func (s *Store[V]) loadMatching(key string, ref *valueRef, matches func(map[string]string) bool) (value V, ok bool) {
	if matches == nil {
		return s.load(key, ref, false)
	}
	if s.config.Packer != nil {
		if labels, read := s.packedLabels(ref); read && !matches(labels) {
			return value, false
		}
	}
	if value, ok = s.load(key, ref, false); ok {
		ok = matches(s.config.Labels(value))
	}
	return value, ok
}

// packedLabels reads labels from packed bytes. It returns false if the value has to be decoded
// instead: it is live already, the packer cannot read labels, or reading them fails.
func (s *Store[V]) packedLabels(ref *valueRef) (labels map[string]string, ok bool) {
	reader, ok := s.config.Packer.(labelReader)
	if !ok {
		return nil, false
	}
	p := packedOf(ref)
	if _, held := s.loadLive(p, false); held {
		return nil, false
	}
	labels, err := feed.CatchPanic(func() (map[string]string, error) { return reader.Labels(p.object) })
	return labels, err == nil
}
