// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/internal/feed"
)

// ItemReplacer is an optional interface of the store of a [Reflector]. The reflector passes each
// complete list to such a store object by object, instead of all objects at once to Replace, which
// it does not call. With [Options].Streaming, only a few objects of a list are then in memory
// besides those that the store keeps.
type ItemReplacer interface {
	// BeginReplace is called before each request for the complete content: the initial list, a
	// relist, and every attempt to repeat one of them. The store's content must not change until
	// Commit. An earlier replacement that was not committed is void.
	BeginReplace() ItemReplacement
}

// ItemReplacement is the new content of a store while it arrives. Its methods, and those of the
// store except Resync, are called one at a time.
type ItemReplacement interface {
	// Add adds an object to the new content, in place of an earlier state of that object. An error
	// is logged, and the list goes on.
	Add(obj any) error
	// Delete removes an object from the new content. It is called for an object that was deleted
	// while a WatchList sent the initial state. An error is logged.
	Delete(obj any) error
	// Commit makes the new content the whole content of the store, in one step for its readers.
	// resourceVersion is that of the list. It is the last call. If Commit returns an error, the
	// list has failed and is repeated; the store's content must be unchanged.
	Commit(resourceVersion string) error
}

// replacement is a list on its way to a store.
type replacement struct {
	sink   *storeSink
	items  ItemReplacement // nil if the objects are collected
	objs   []any           // in the list's order; nil for an object that was removed
	listed map[string]listed
	failed map[string]struct{}
}

// listed is an object of a list.
type listed struct {
	version string // of the list's item, empty for the store's last state
	index   int    // in objs
}

// CompareContents does nothing, as every object of the list is passed on.
func (r *replacement) CompareContents() {}

// Needs returns NeedsObject.
func (r *replacement) Needs(feed.Item) (feed.Need, any) { return feed.NeedsObject, nil }

// Add passes on an object, and reports a key that the list holds more than once.
func (r *replacement) Add(item feed.Item) {
	if _, again := r.listed[item.Key]; again {
		r.sink.errors.log(r.sink.logger(), item.Key, &feed.EffectError{Effect: feed.Duplicate, Err: feed.ErrDuplicate})
	}
	r.Update(item)
}

// Update passes on an object, unless the list had a newer state of it. For an object that cannot be
// decoded it passes on the store's last state.
func (r *replacement) Update(item feed.Item) {
	last, again := r.listed[item.Key]
	if again && feed.IsOlder(item.ResourceVersion, last.version) {
		return
	}
	obj, err := r.decode(item)
	if err == nil {
		delete(r.failed, item.Key)
		r.put(item.Key, obj, item.ResourceVersion)
		return
	}
	r.failed[item.Key] = struct{}{}
	r.sink.reportObject(item.Key, err)
	if obj, held := r.sink.last(item.Key); held && !again {
		r.put(item.Key, obj, "")
	}
}

// decode returns the object of an item as the store's transform returns it.
func (r *replacement) decode(item feed.Item) (any, error) {
	obj, err := item.Decoded()
	if err != nil || r.sink.transform == nil {
		return obj, err
	}
	return feed.CatchPanic(func() (any, error) { return r.sink.transform(obj) })
}

// put adds the state of an object.
func (r *replacement) put(key string, obj any, version string) {
	last, again := r.listed[key]
	switch {
	case r.items != nil:
		if err := r.items.Add(obj); err != nil {
			r.sink.reportObject(key, err)
		}
	case again:
		r.objs[last.index] = obj
	default:
		last.index = len(r.objs)
		r.objs = append(r.objs, obj)
	}
	if key != "" && !strings.HasSuffix(key, "/") { // objects without a name share a key
		r.listed[key] = listed{version, last.index}
	}
}

// Remove removes an object that was added, unless it is newer.
func (r *replacement) Remove(item feed.Item) {
	last, ok := r.listed[item.Key]
	if feed.IsOlder(item.ResourceVersion, last.version) {
		return
	}
	delete(r.failed, item.Key)
	if !ok {
		return
	}
	delete(r.listed, item.Key)
	if r.items == nil {
		r.objs[last.index] = nil
		return
	}
	obj, err := item.Decoded()
	if err != nil {
		obj, err = r.sink.identityOnly(item, err)
	}
	if err == nil {
		err = r.items.Delete(obj)
	}
	if err != nil {
		r.sink.reportObject(item.Key, err)
	}
}

// Commit calls Replace, or the Commit of an ItemReplacement. If it returns an error, the list has
// failed.
func (r *replacement) Commit(resourceVersion string) error {
	if err := r.commit(resourceVersion); err != nil {
		return fmt.Errorf("replace the store's content: %w", err)
	}
	s := r.sink
	s.failed, s.reached = r.failed, resourceVersion
	s.unordered = resourceVersion == "" || resourceVersion == "0"
	return nil
}

func (r *replacement) commit(resourceVersion string) error {
	if r.items != nil {
		return r.items.Commit(resourceVersion)
	}
	objs := slices.DeleteFunc(r.objs, func(obj any) bool { return obj == nil })
	return r.sink.store.Replace(objs, resourceVersion)
}
