// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package storewriter

import (
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

// replacement is a list on its way to the store. feed.Replacement describes its methods.
type replacement[T any] struct {
	sink       *Sink[T]
	list       List[T] // nil if the objects are collected
	objs       []T     // in the list's order; nil for an object that was removed
	listed     map[string]listed
	failed     Failures
	duplicates map[string]bool // keys that the list holds more than once

	compareContents bool   // an equal version may be another state
	compareWrites   bool   // see feed.Replacement
	changed         string // the oldest version of an object that the store does not have, see Differs
	rewritten       bool   // an object was stored with other contents at the same version
}

// listed is an object of a list.
type listed struct {
	version string // of the list's item, empty for the store's last state
	index   int    // in objs
}

func (r *replacement[T]) CompareContents(writes bool) {
	r.compareContents, r.compareWrites = true, writes
}

// Needs returns NeedsObject: a Store receives objects.
func (r *replacement[T]) Needs(feed.Item) (feed.Need, any) { return feed.NeedsObject, nil }

// maxUnnamedReports is the number of items without a key that are reported of one list.
const maxUnnamedReports = 10

// Add adds an object, or its last good state if the new one cannot be stored.
func (r *replacement[T]) Add(item feed.Item) {
	_, again := r.listed[item.Key]
	_, failed := r.failed.Keys[item.Key]
	if (again || failed) && feed.HasName(item.Key) && !r.duplicates[item.Key] {
		r.duplicates[item.Key] = true
		r.sink.config.Report(item.Key, &feed.EffectError{Effect: feed.Duplicate, Err: feed.ErrDuplicate})
	}
	r.Update(item)
}

func (r *replacement[T]) Update(item feed.Item) {
	if feed.IsOlder(item.ResourceVersion, r.listed[item.Key].version) {
		return
	}
	if item.IsUnreadable() && item.Key == "" { // a Store cannot be asked what it has besides the list
		_, err := item.Decoded()
		if r.failed.Unnamed++; r.failed.Unnamed <= maxUnnamedReports {
			r.sink.report(item, false, err)
		}
		return
	}
	obj, isStored, err := r.prepare(item)
	if !isStored && (r.changed == "" || feed.IsOlder(item.ResourceVersion, r.changed)) {
		r.changed = item.ResourceVersion
	}
	if err == nil {
		r.put(item, obj, item.ResourceVersion)
	}
	switch isNewest := !feed.IsOlder(item.ResourceVersion, r.failed.Keys[item.Key].version); {
	case !isNewest:
	case err != nil:
		r.reject(item, err)
	default:
		delete(r.failed.Keys, item.Key)
	}
}

// prepare returns the object to add, which is the stored one if that is the same. It reports
// whether the store has a state of its version, or true if that is not compared.
func (r *replacement[T]) prepare(item feed.Item) (obj T, isStored bool, err error) {
	obj, err = r.sink.decodeListed(&item)
	switch {
	case !r.sink.config.Compare:
		return obj, !r.compareContents || r.sink.HasVersion(item), err
	case err != nil:
		return obj, false, err
	}
	old, _, outcome, err := r.sink.stored(item)
	switch {
	case outcome != feed.Unchanged:
		return obj, false, err
	case r.compareContents && !r.isSame(obj, old):
		r.rewritten = true
		return obj, true, nil
	}
	return old, true, nil
}

// isSame reports whether two states of one version of an object are the same.
func (r *replacement[T]) isSame(a, b T) bool {
	return isEqual(a, b) || r.compareWrites && history.SameWrite(a, b)
}

// isEqual reports whether two objects have equal contents. Types that cannot be compared have not.
func isEqual(a, b any) bool {
	equal, err := feed.CatchPanic(func() (bool, error) { return history.EqualContents(a, b), nil })
	return err == nil && equal
}

func (r *replacement[T]) put(item feed.Item, obj T, version string) {
	last, again := r.listed[item.Key]
	switch {
	case r.list != nil:
		if err := r.list.Add(obj); err != nil {
			r.sink.reportWrite(item, err)
		}
	case again:
		r.objs[last.index] = obj
	default:
		last.index = len(r.objs)
		r.objs = append(r.objs, obj)
	}
	if feed.HasName(item.Key) {
		r.listed[item.Key] = listed{version, last.index}
	}
}

// reject adds the last good state of an object, the list's or the store's, unless the store's is of
// a predecessor.
func (r *replacement[T]) reject(item feed.Item, err error) {
	r.failed.add(item, err)
	_, held := r.listed[item.Key]
	if !held {
		old, stored, _, _ := r.sink.stored(item)
		if held = stored && !isPredecessor(old, item); held {
			r.put(item, old, "")
		}
	}
	r.sink.report(item, held, err)
}

func (r *replacement[T]) Remove(item feed.Item) {
	if !feed.IsOlder(item.ResourceVersion, r.failed.Keys[item.Key].version) {
		delete(r.failed.Keys, item.Key)
	}
	last, ok := r.listed[item.Key]
	if !ok || feed.IsOlder(item.ResourceVersion, last.version) {
		return
	}
	delete(r.listed, item.Key)
	if r.list == nil {
		var none T
		r.objs[last.index] = none
		return
	}
	obj, err := decode[T](&item)
	if obj, err = r.sink.finalState(item, obj, err); err == nil {
		err = r.list.Delete(obj)
	}
	if err != nil {
		r.sink.reportWrite(item, err)
	}
}

// Differs reports whether an object of the list that is not newer than version was not in the
// store. Which objects were deleted is not known. Without Config.Compare it is known only after
// CompareContents, and for the versions of objects only.
func (r *replacement[T]) Differs(version string, contents bool) bool {
	return contents && r.rewritten || r.changed != "" && !feed.IsOlder(version, r.changed)
}

// Commit calls Replace, or the Commit of a List. If that returns an error, the list has failed.
func (r *replacement[T]) Commit(resourceVersion string) error {
	commit := func(resourceVersion string) error {
		objs := slices.DeleteFunc(r.objs, func(obj T) bool { return codec.IsNil(obj) })
		return r.sink.config.Store.Replace(objs, resourceVersion)
	}
	if r.list != nil {
		commit = r.list.Commit
	}
	if err := commit(resourceVersion); err != nil {
		return fmt.Errorf("replace the store's content: %w", err)
	}
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	r.sink.failed = r.failed
	return nil
}
