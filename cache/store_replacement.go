// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// storeReplacement collects the objects for a call of Replace.
type storeReplacement[T Object] struct {
	sink            *storeSink[T]
	objs            map[string]collected[T]
	order           []string // keys in the order of the list; may have a removed key, or a key twice
	failed          failures
	duplicates      map[string]struct{} // keys that the list holds more than once
	compareContents bool                // an equal version may be another state
}

// collected is an object of a list.
type collected[T Object] struct {
	obj     T
	version string // of the list's item, empty for the store's last state
}

// CompareContents says that an equal version does not imply an equal object.
func (r *storeReplacement[T]) CompareContents() { r.compareContents = true }

// Needs returns NeedsObject: a ReflectorStore takes objects.
func (r *storeReplacement[T]) Needs(feed.Item) (feed.Need, any) { return feed.NeedsObject, nil }

// Add collects an object, or the store's own if that has the same version. Since Replace delivers
// no events, CompareContents needs no comparison: the new object replaces the old one. For an
// object that cannot be decoded it collects the last good state.
func (r *storeReplacement[T]) Add(item feed.Item) {
	_, again := r.objs[item.Key]
	_, failed := r.failed.keys[item.Key]
	if again || failed {
		r.reportDuplicate(item.Key)
	}
	r.Update(item)
}

// Update collects an object as Add does, and does not report a duplicate. Of two states of an
// object the newer one remains, and the later one if they cannot be compared.
func (r *storeReplacement[T]) Update(item feed.Item) {
	if feed.IsOlder(item.ResourceVersion, r.objs[item.Key].version) {
		return
	}
	obj, _, outcome, err := r.sink.compare(item)
	if err == nil && outcome == feed.Unchanged && r.compareContents {
		obj, err = codec.Decode[T](item)
	}
	isNewest := !feed.IsOlder(item.ResourceVersion, r.failed.keys[item.Key].version)
	if err == nil {
		r.collect(item.Key, obj, item.ResourceVersion)
	}
	switch {
	case !isNewest:
	case err != nil:
		r.reject(item, err)
	default:
		delete(r.failed.keys, item.Key)
	}
}

func (r *storeReplacement[T]) collect(key string, obj T, version string) {
	if _, again := r.objs[key]; !again {
		r.order = append(r.order, key)
	}
	r.objs[key] = collected[T]{obj, version}
}

// reject collects the last good state of an object: the list's, otherwise the store's.
func (r *storeReplacement[T]) reject(item feed.Item, err error) {
	r.failed.add(item, err)
	_, held := r.objs[item.Key]
	if !held {
		last, missing := r.sink.lastState(item.Key)
		if held = missing == nil; held {
			r.collect(item.Key, last, "")
		}
	}
	r.sink.reportObject(item.Key, held, err)
}

// reportDuplicate reports, once, that the list holds several states of an object.
func (r *storeReplacement[T]) reportDuplicate(key string) {
	if _, reported := r.duplicates[key]; reported {
		return
	}
	if r.duplicates == nil {
		r.duplicates = make(map[string]struct{})
	}
	r.duplicates[key] = struct{}{}
	r.sink.report(key, &feed.EffectError{Effect: feed.Duplicate, Err: feed.ErrDuplicate})
}

// Remove removes an object that was added, unless it is newer.
func (r *storeReplacement[T]) Remove(item feed.Item) {
	if !feed.IsOlder(item.ResourceVersion, r.failed.keys[item.Key].version) {
		delete(r.failed.keys, item.Key)
	}
	if !feed.IsOlder(item.ResourceVersion, r.objs[item.Key].version) {
		delete(r.objs, item.Key)
	}
}

// Commit calls Replace. If the store returns an error, the list has failed.
func (r *storeReplacement[T]) Commit(resourceVersion string) error {
	objs := make([]T, 0, len(r.objs))
	for _, key := range r.order {
		if obj, ok := r.objs[key]; ok {
			objs = append(objs, obj.obj)
			delete(r.objs, key)
		}
	}
	if err := r.sink.store.Replace(objs, resourceVersion); err != nil {
		return fmt.Errorf("replace the store's content: %w", err)
	}
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	r.sink.failed = r.failed
	return nil
}
