// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
)

// maker is what makeEntry keeps from entry to entry. One goroutine uses it at a time.
type maker struct {
	scope        *Scope                      // of the next entry; nil if the store has the whole collection
	written      bool                        // the next entry is written by the program, into a store with scopes
	keepsDecoded bool                        // the next entry, if packed, refers to the value that was decoded for it
	report       func(key string, err error) // receives the errors of index functions
}

// originOf returns the element of the origin of an item's entry. It shares that of old, which may
// be nil.
func (m *maker) originOf(id identity, old *Entry) *sharedMeta {
	from := origin{scope: m.scope, written: m.written, version: id.text}
	if from.version != "" {
		if last := old.sharedMeta().last(); last.origin() == from {
			return last
		}
	}
	return from.meta()
}

func (v *valueCodec) makeIndexed(entry *Entry, set *indexSet, maker *maker, item feed.Item, value *any, old *Entry) error {
	if v.config.Packer != nil {
		return v.packEntry(entry, set, maker, item, value, old)
	}
	live, err := v.valueOf(item, value)
	if err != nil {
		return err
	}
	valuesAt := func(i int) ([]string, error) { return set.functions[i](live) }
	id := identityOf(item.UID, item.ResourceVersion)
	shared := set.valuesOf(item.Key, valuesAt, maker.originOf(id, old), old.sharedMeta(), maker.report)
	entry.ref = v.refOf(live)
	entry.entryMeta = entryMeta{shared, id.shortIdentity}
	return nil
}

// packEntry is makeIndexed for a store that packs. It decodes the value only if an index function
// or the packer needs it.
func (v *valueCodec) packEntry(entry *Entry, set *indexSet, maker *maker, item feed.Item, value *any, old *Entry) error {
	decode := func() (any, error) { // once
		decoded, err := v.valueOf(item, value)
		if err == nil {
			value = &decoded
		}
		return decoded, err
	}
	var before pack.Object
	if old != nil {
		before = packedOf(old.ref).object
	}
	object, err := feed.CatchPanic(func() (pack.Object, error) { return v.config.Packer.Pack(item, before, decode) })
	unsupported := value != nil && errors.Is(err, pack.ErrUnsupported)
	if err != nil && !unsupported {
		return err
	}
	// The packer has checked the bytes, which the indexes read.
	id := identityOf(item.UID, item.ResourceVersion)
	shared, failed := v.indexPacked(set, maker, item, decode, maker.originOf(id, old), old)
	switch {
	case failed != nil:
		return failed
	case unsupported:
		entry.ref = v.keepUnpacked(*value)
		if v.keepsUnpacked.CompareAndSwap(false, true) { // it is reported once
			maker.report(item.Key, &feed.EffectError{Effect: feed.NotPacked, Err: err})
		}
	default:
		p := &packed{object: object}
		if entry.ref = p.ref(); maker.keepsDecoded && value != nil {
			v.storeLive(p, *value)
		}
	}
	entry.entryMeta = entryMeta{shared, id.shortIdentity}
	return nil
}

// indexPacked returns an item's sharedMeta with an origin. It decodes the item if an index has no
// item indexer; a failure to decode is returned as the item's error, not reported as the index's.
func (v *valueCodec) indexPacked(set *indexSet, maker *maker, item feed.Item, decode func() (any, error), origin *sharedMeta, old *Entry) (*sharedMeta, error) {
	itemIndexers := v.config.ItemIndexers
	if v.Transforms() {
		itemIndexers = nil
	}
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
	return set.valuesOf(item.Key, valuesAt, origin, old.sharedMeta(), maker.report), nil
}

// valueOf returns *value, or the item's decoded value if value is nil.
func (v *valueCodec) valueOf(item feed.Item, value *any) (any, error) {
	if value != nil {
		return *value, nil
	}
	v.EndIfAbandoned()
	defer v.EndIfAbandoned() // before index functions
	return feed.CatchPanic(func() (any, error) { return v.config.Decode(item) })
}

// keyOf returns the key of an item's value, and the value if it was decoded for that. On error it
// returns the item's own key. The key of an object that a client has decoded may be empty.
func (v *valueCodec) keyOf(item feed.Item) (string, *any, error) {
	if v.keepsKey(item) {
		return item.Key, nil, nil
	}
	value, err := v.valueOf(item, nil)
	if err != nil {
		return item.Key, nil, err
	}
	key, err := v.keyOfValue(value)
	switch {
	case err == nil && key == "" && item.Key == "" && item.Object == nil:
		err = errNoKey
	case err == nil && key != item.Key && item.Key != "" && v.isScoped():
		err = fmt.Errorf("%w: its key is %q", errRenamed, key)
	}
	if err != nil {
		return item.Key, nil, err
	}
	return key, &value, nil
}

func (v *valueCodec) keyOfValue(value any) (string, error) {
	return feed.CatchPanic(func() (string, error) { return v.config.Key(value) })
}

var (
	errNoKey   = errors.New("the object has no key")
	errRenamed = errors.New("a transform must not change the key of an object of an informer with scopes")
)

// isScoped reports whether the store has scopes.
func (v *valueCodec) isScoped() bool { return v.config.ScopeOf != nil }

// keepsKey reports whether an item's key is known to be that of its value.
func (v *valueCodec) keepsKey(item feed.Item) bool {
	return item.Key != "" && v.config.ItemKeys && !v.Transforms()
}

// skips reports whether Decode returns ErrSkip for the item: its state is never stored.
func (v *valueCodec) skips(item feed.Item) bool {
	_, err := v.valueOf(copied(item), nil)
	return errors.Is(err, feed.ErrSkip)
}

// copied returns an item whose object Decode may modify, although the item is to be applied.
func copied(item feed.Item) feed.Item {
	if item.Object != nil {
		item.Object = item.Object.DeepCopyObject()
	}
	return item
}

// filter returns the decoded item, and whether it passes the filter. An item that cannot be decoded
// or filtered passes with an ErrorCodec, so that the error is reported and its last good state
// stays.
func (v *valueCodec) filter(item feed.Item) (_ feed.Item, passes bool) {
	obj, err := feed.CatchPanic(item.Decoded)
	if err == nil {
		v.EndIfAbandoned()
		if passes, err = feed.CatchPanic(func() (bool, error) { return v.config.Filter(obj), nil }); err != nil {
			err = fmt.Errorf("filter: %w", err)
		}
	}
	if err != nil {
		return feed.Item{Key: item.Key, UID: item.UID, ResourceVersion: item.ResourceVersion, InOrder: item.InOrder, Unordered: item.Unordered, Codec: feed.ErrorCodec{Err: err}}, true
	}
	item.Object = obj
	return item, passes
}

// Transforms reports whether Decode may change keys and index values; see Config.Transforms.
func (v *valueCodec) Transforms() bool { return v.config.Transforms != nil && v.config.Transforms() }
