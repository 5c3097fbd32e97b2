// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// filterSink is a reflector's view of the store. It passes only objects that pass the filter to the
// feed, and wakes callers that wait for a resourceVersion.
type filterSink[V any] struct {
	*store.Feed[V]
	store  *store.Store[V]
	filter func(runtime.Object) bool // nil passes every object
	// changed is called after each event, bookmark and list, and listed after each list, before
	// changed.
	changed func()
	listed  func()
}

var _ feed.Sink = (*filterSink[any])(nil)

// Apply applies one watch event. An object that does not pass the filter is removed.
func (s *filterSink[V]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	outcome := s.apply(eventType, item)
	s.changed()
	return outcome
}

func (s *filterSink[V]) apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	passes := true
	switch {
	case s.filter == nil || s.IsForeign(item):
	case eventType != watch.Deleted:
		item, passes = s.applyFilter(item, !item.Repeated)
	case s.MayBeUnseen(item): // otherwise only the deletion of an object that has passed is delivered
		item, passes = s.applyFilter(item, false)
	}
	if !passes {
		return s.Refuse(eventType, item)
	}
	return s.Feed.Apply(eventType, item)
}

// applyFilter returns the decoded item, and whether it passes the filter. With trustVersion, an
// item in the stored version passes without being decoded, unless the store would call a transform
// to find its key: the filter must be called first. An item that cannot be decoded or filtered
// passes with an ErrorCodec, so that the store reports it and keeps its last good state.
func (s *filterSink[V]) applyFilter(item feed.Item, trustVersion bool) (_ feed.Item, passes bool) {
	if trustVersion && !s.store.Transforms() && s.Feed.HasVersion(item) {
		return item, true
	}
	obj, passes, err := s.callFilter(item)
	if err != nil {
		return feed.Item{Key: item.Key, UID: item.UID, ResourceVersion: item.ResourceVersion, InOrder: item.InOrder, Codec: feed.ErrorCodec{Err: err}}, true
	}
	item.Object = obj
	return item, passes
}

// callFilter decodes the item and calls the user's filter. It returns a panic as an error.
func (s *filterSink[V]) callFilter(item feed.Item) (obj runtime.Object, passes bool, err error) {
	if obj, err = feed.CatchPanic(item.Decoded); err != nil {
		return nil, false, err
	}
	s.store.EndIfAbandoned()
	passes, err = feed.CatchPanic(func() (bool, error) { return s.filter(obj), nil })
	if err != nil {
		return nil, false, fmt.Errorf("filter: %w", err)
	}
	return obj, passes, nil
}

// HasVersion reports whether the collection has exactly this version of the object. It returns
// true for every version of an object that does not pass the filter, and for a state that the
// transform ignores.
func (s *filterSink[V]) HasVersion(item feed.Item) bool {
	if s.filter != nil && !s.IsForeign(item) && s.store.Snapshot().Entry(item.Key) == nil {
		if _, passes := s.applyFilter(item, true); !passes {
			return true
		}
	}
	return s.Feed.HasVersion(item) || !s.store.Transforms() && s.store.Skips(item)
}

// AdvanceVersion advances the resourceVersion without a change.
func (s *filterSink[V]) AdvanceVersion(resourceVersion string) {
	s.Feed.AdvanceVersion(resourceVersion)
	s.changed()
}

// Begin begins a replacement of what the feed feeds.
func (s *filterSink[V]) Begin() feed.Replacement {
	return &filterReplacement[V]{
		Replacement: s.BeginReplacement(), sink: s, refused: make(map[string]string), passed: make(map[string]struct{}),
	}
}

// filterReplacement is a replacement that holds only objects that pass the filter.
type filterReplacement[V any] struct {
	*store.Replacement[V]
	sink    *filterSink[V]
	refused map[string]string // keys of the list's objects that do not pass, and their newest version
	// passed is the set of keys of those that pass, if a transform may rename objects. Without it,
	// the transform would be called for each object that does not pass.
	passed map[string]struct{}
}

// Needs returns what Add requires of an item: for the filter, the decoded object, unless the store
// has this version of it, which then passes.
func (r *filterReplacement[V]) Needs(item feed.Item) (need feed.Need, known any) {
	need, known = r.Replacement.Needs(item)
	if need != feed.NeedsIdentity && r.sink.filter != nil {
		need = feed.NeedsObject
	}
	return need, known
}

// Add adds an item if it passes the filter.
func (r *filterReplacement[V]) Add(item feed.Item) {
	if item, passes := r.applyFilter(item); passes {
		r.Replacement.Add(item)
	}
}

// Update adds an item of a MODIFIED event if it passes the filter.
func (r *filterReplacement[V]) Update(item feed.Item) {
	if item, passes := r.applyFilter(item); passes {
		r.Replacement.Update(item)
	}
}

// applyFilter returns the decoded item, and whether to add it: it passes the filter, and no newer
// state of its object in the list does not. An item whose version the store has passes without
// being decoded.
func (r *filterReplacement[V]) applyFilter(item feed.Item) (_ feed.Item, passes bool) {
	if r.sink.filter == nil || r.sink.IsForeign(item) {
		return item, true
	}
	if passes = item.Known != nil; !passes {
		item, passes = r.sink.applyFilter(item, false)
	}
	switch {
	case !passes:
		r.refuse(item)
		return item, false
	case feed.IsOlder(item.ResourceVersion, r.refused[item.Key]):
		return item, false
	}
	if r.sink.store.Transforms() {
		r.passed[item.Key] = struct{}{}
	}
	return item, true
}

// refuse records that an item does not pass, and removes an earlier state that did.
func (r *filterReplacement[V]) refuse(item feed.Item) {
	if !feed.IsOlder(item.ResourceVersion, r.refused[item.Key]) {
		r.refused[item.Key] = item.ResourceVersion
	}
	if _, passed := r.passed[item.Key]; passed || !r.sink.store.Transforms() {
		r.Remove(item)
	}
	r.Refuse(item)
}

// Commit makes the replacement the state of the collection.
func (r *filterReplacement[V]) Commit(resourceVersion string) error {
	if err := r.Replacement.Commit(resourceVersion); err != nil {
		return err
	}
	r.sink.listed()
	r.sink.changed()
	return nil
}
