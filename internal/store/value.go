// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"
	"weak"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
)

// valueRef stands for an entry's value in the map, so that Get reaches the value without a further
// indirection. A *valueRef points to
//
//   - the object itself, if V is a pointer type and the store does not pack,
//   - a heap copy of the value, if V is any other type and the store does not pack,
//   - a packed struct, if the store packs.
//
// The case is the same for all entries of a store, and only this file converts between them. A
// valueRef is never dereferenced. Its type is smaller than any memory it may point to, and the
// garbage collector follows the allocated memory, not the pointer's type.
type valueRef struct{ _ byte }

// isPointer reports whether V is a pointer type.
func isPointer[V any]() bool { return reflect.TypeFor[V]().Kind() == reflect.Pointer }

// refOf returns the reference of a value that is not packed.
func (s *Store[V]) refOf(value V) *valueRef {
	if s.valuesArePointers {
		return *(**valueRef)(unsafe.Pointer(&value)) //nolint:gosec // V is a pointer
	}
	return box(value)
}

// box copies a value that is not a pointer to the heap. It is a function of its own so that refOf
// does not move pointers to the heap.
//
//go:noinline
func box[V any](value V) *valueRef { return (*valueRef)(unsafe.Pointer(&value)) } //nolint:gosec // Store.value converts it back

// value returns the value of a reference returned by refOf.
func (s *Store[V]) value(ref *valueRef) V {
	if s.valuesArePointers {
		return *(*V)(unsafe.Pointer(&ref)) //nolint:gosec // V is a pointer
	}
	return *(*V)(unsafe.Pointer(ref)) //nolint:gosec // made by box
}

// pointee returns a reference to the object that value points to, or nil if value is not a pointer
// of the type that the store's values share.
func (s *Store[V]) pointee(value V) *valueRef {
	if s.valuesArePointers {
		return s.refOf(value)
	}
	if s.config.PointerType == nil {
		return nil
	}
	if v := reflect.ValueOf(value); v.IsValid() && v.Type() == s.config.PointerType {
		return (*valueRef)(v.UnsafePointer())
	}
	return nil
}

// fromPointee returns the value of a reference returned by pointee.
func (s *Store[V]) fromPointee(ref *valueRef) V {
	if s.valuesArePointers {
		return s.value(ref)
	}
	return reflect.NewAt(s.config.PointerType.Elem(), unsafe.Pointer(ref)).Interface().(V) //nolint:gosec // made by pointee
}

func (p *packed) ref() *valueRef { return (*valueRef)(unsafe.Pointer(p)) } //nolint:gosec // packedOf converts it back

// packedOf returns the packed value of a reference, in a store that packs.
func packedOf(ref *valueRef) *packed { return (*packed)(unsafe.Pointer(ref)) } //nolint:gosec // made by packed.ref

// equal reports whether the values of two references are equal. Values that cannot be decoded or
// compared are not equal.
func (s *Store[V]) equal(a, b *valueRef) bool {
	equal, err := s.compareValues(a, b)
	return err == nil && equal
}

// compareValues reports whether the values of two references are equal. It decodes packed values only
// if their bytes differ, and decodes them anew, because a caller may have modified a shared decoded
// object. It returns an error if the values cannot be decoded or compared.
func (s *Store[V]) compareValues(a, b *valueRef) (equal bool, err error) {
	if s.config.Packer == nil {
		return equalValues(s.value(a), s.value(b))
	}
	if left, ok := s.unpackedValue(packedOf(a)); ok {
		right, ok := s.unpackedValue(packedOf(b))
		if !ok {
			return false, nil
		}
		return equalValues(left, right)
	}
	x, y := packedOf(a).object, packedOf(b).object
	left, err := x.Unpack(nil)
	if err != nil {
		return false, err
	}
	if right, err := y.Unpack(nil); err == nil && bytes.Equal(left, right) {
		return true, nil
	}
	return feed.CatchPanic(func() (bool, error) {
		left, err := s.config.Packer.Unpack(x)
		if err != nil {
			return false, err
		}
		right, err := s.config.Packer.Unpack(y)
		if err != nil {
			return false, err
		}
		return equalValues(left, right)
	})
}

// equalValues compares values as Kubernetes does: nil and empty are equal. The comparison panics on
// types with unexported fields that it does not know, which is an error here.
func equalValues[V any](a, b V) (bool, error) {
	return feed.CatchPanic(func() (bool, error) { return equality.Semantic.DeepEqual(a, b), nil })
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
	var before pack.Object
	if old != nil {
		before = packedOf(old.ref).object
	}
	object, err := feed.CatchPanic(func() (pack.Object, error) { return s.config.Packer.Pack(item, before, decode) })
	unsupported := value != nil && errors.Is(err, pack.ErrUnsupported)
	if err != nil && !unsupported {
		return err
	}
	// The packer has checked the bytes, which the indexes read.
	byIndex, failed := s.indexPacked(set, maker, item, decode, old)
	switch {
	case failed != nil:
		return failed
	case unsupported:
		entry.ref = s.keepUnpacked(*value)
		s.reportNotPacked(maker, item.Key, err)
	default:
		p := &packed{object: object}
		if entry.ref = p.ref(); maker.keepsDecoded && value != nil {
			s.storeLive(p, *value)
		}
	}
	entry.entryMeta = metaOf(maker, item, byIndex, old)
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
		return s.load(key, ref)
	}
	if s.config.Packer != nil {
		if labels, read := s.packedLabels(ref); read && !matches(labels) {
			return value, false
		}
	}
	if value, ok = s.load(key, ref); ok {
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
	if _, held := s.loadLive(p); held {
		return nil, false
	}
	labels, err := feed.CatchPanic(func() (map[string]string, error) { return reader.Labels(p.object) })
	return labels, err == nil
}

// Load returns an entry's value, which it decodes if the entry is packed. An entry that cannot be
// decoded is reported, once while it is the live one, and its key is quarantined, so that the object
// is fetched again.
func (s *Store[V]) Load(key string, entry *Entry[V]) (V, bool) { return s.load(key, entry.ref) }

func (s *Store[V]) load(key string, ref *valueRef) (V, bool) {
	value, err := s.read(ref)
	if err != nil {
		s.reportUnreadable(key, ref, err, s.config.Report)
	}
	return value, err == nil
}

// read returns the value of an entry, which it decodes if the entry is packed.
func (s *Store[V]) read(ref *valueRef) (V, error) {
	if s.config.Packer == nil {
		return s.value(ref), nil
	}
	p := packedOf(ref)
	if value, ok := s.loadLive(p); ok {
		return value, nil
	}
	value, err := s.unpack(p)
	if err == nil {
		value = s.storeLive(p, value)
	}
	return value, err
}

// unpack decodes a packed value.
func (s *Store[V]) unpack(p *packed) (V, error) {
	return feed.CatchPanic(func() (V, error) { return s.config.Packer.Unpack(p.object) })
}

// reportUnreadable quarantines the key of an entry that could not be decoded, and reports the
// error.
func (s *Store[V]) reportUnreadable(key string, ref *valueRef, err error, report func(string, error)) {
	err = fmt.Errorf("decode cached object: %w", err)
	if s.quarantineUnreadable(key, ref, err) {
		report(key, &feed.EffectError{Effect: feed.Unreadable, Err: err})
	}
}

// TryLoad returns an entry's value like Load, but neither reports nor quarantines an entry that
// cannot be decoded.
func (s *Store[V]) TryLoad(entry *Entry[V]) (value V, ok bool) {
	if s.config.Packer == nil {
		return s.value(entry.ref), true
	}
	p := packedOf(entry.ref)
	if value, ok = s.loadLive(p); ok {
		return value, true
	}
	value, err := s.unpack(p)
	return value, err == nil
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

// decoded is the handle of a packed's decoded object.
type decoded struct {
	object weak.Pointer[valueRef] // nil once nothing references the object
}

// loadLive returns the decoded value if a reader references it, or the store keeps it unpacked.
func (s *Store[V]) loadLive(p *packed) (value V, ok bool) {
	switch d := p.live.Load(); d {
	case nil:
	case &notPacked:
		return s.unpackedValue(p)
	default:
		if ref := d.object.Value(); ref != nil {
			return s.fromPointee(ref), true
		}
	}
	return value, false
}

// storeLive records a decoded value and returns it, or returns the value that another reader
// recorded first, so that concurrent readers share one object. The garbage collector frees the
// handle together with the object.
func (s *Store[V]) storeLive(p *packed, value V) V {
	ref := s.pointee(value)
	if ref == nil {
		return value
	}
	d := &decoded{weak.Make(ref)}
	for {
		other := p.live.Load()
		if other != nil {
			if ref := other.object.Value(); ref != nil {
				return s.fromPointee(ref)
			}
		}
		if p.live.CompareAndSwap(other, d) {
			break
		}
	}
	runtime.AddCleanup(ref, func(d *decoded) { p.live.CompareAndSwap(d, nil) }, d)
	return value
}

// packedSize returns the size of the packed object of an entry, zero if it is nil. The store must
// pack.
func (e *Entry[V]) packedSize() int64 {
	if e == nil {
		return 0
	}
	return int64(packedOf(e.ref).object.Size())
}
