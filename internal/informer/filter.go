// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// filterSink is a reflector's view of the store. It stores only objects that pass the filter, and
// wakes callers that wait for a resourceVersion.
type filterSink[V any] struct {
	*store.Store[V]
	target   feed.Sink                 // the store, or feed
	feed     *store.Feed[V]            // of some of the store's scopes, nil if it has none
	filter   func(runtime.Object) bool // nil passes every object
	identity func(V) (uid, resourceVersion string)
	// changed is called after each event, bookmark and list, and listed after each list, before
	// changed.
	changed func()
	listed  func()

	mu sync.Mutex // guards filteredOut
	// filteredOut maps the key of each object that passed the filter once, exists, and does not
	// pass any more, to its UID. It distinguishes such an object from a deleted one. It is not used
	// with a feed, which records that in the change itself.
	filteredOut map[string]string
}

var _ feed.Sink = (*filterSink[any])(nil)

// Apply applies one watch event. An object that does not pass the filter is removed.
func (s *filterSink[V]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	outcome := s.apply(eventType, item)
	s.changed()
	return outcome
}

func (s *filterSink[V]) apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	if s.filter == nil || s.isForeign(item) {
		return s.target.Apply(eventType, item)
	}
	if s.feed != nil {
		return s.applyScoped(eventType, item)
	}
	if eventType == watch.Deleted {
		s.markFiltered(item, false)
		return s.target.Apply(eventType, item)
	}
	item, passes := s.applyFilter(item, true)
	if passes {
		return s.target.Apply(eventType, item)
	}
	marked := s.markFiltered(item, true) // before a handler receives the deletion
	outcome := s.target.Apply(watch.Deleted, item)
	if outcome != feed.Applied && !marked {
		s.markFiltered(item, false)
	}
	return outcome
}

// applyScoped is apply for a sink with a feed.
func (s *filterSink[V]) applyScoped(eventType watch.EventType, item feed.Item) feed.Outcome {
	passes := true
	if eventType != watch.Deleted {
		item, passes = s.applyFilter(item, true)
	}
	if !passes {
		return s.feed.Refuse(item)
	}
	return s.feed.Apply(eventType, item)
}

// isForeign reports whether an item is in no scope of the feed. The filter is not called with such
// an item.
func (s *filterSink[V]) isForeign(item feed.Item) bool {
	return s.feed != nil && s.feed.IsForeign(item)
}

// applyFilter returns the decoded item, and whether it passes the filter. With trustVersion, an
// item in the stored version passes without being decoded, unless the store would call a transform
// to find its key: the filter must be called first. An item that cannot be decoded or filtered
// passes with an ErrorCodec, so that the store reports it and keeps its last good state.
func (s *filterSink[V]) applyFilter(item feed.Item, trustVersion bool) (_ feed.Item, passes bool) {
	if trustVersion && !s.Transforms() && s.Store.HasVersion(item) {
		return item, true
	}
	obj, passes, err := s.callFilter(item)
	if err != nil {
		return feed.Item{Key: item.Key, UID: item.UID, ResourceVersion: item.ResourceVersion, Codec: feed.ErrorCodec{Err: err}}, true
	}
	item.Object = obj
	return item, passes
}

// callFilter decodes the item and calls the user's filter. It returns a panic as an error.
func (s *filterSink[V]) callFilter(item feed.Item) (obj runtime.Object, passes bool, err error) {
	if obj, err = feed.CatchPanic(item.Decoded); err != nil {
		return nil, false, err
	}
	s.EndIfAbandoned()
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
	if s.filter != nil && !s.isForeign(item) && s.Snapshot().Entry(item.Key) == nil {
		if _, passes := s.applyFilter(item, true); !passes {
			return true
		}
	}
	return s.target.HasVersion(item) || !s.Transforms() && s.Skips(item)
}

// Quarantined returns the number of the target's objects that are quarantined.
func (s *filterSink[V]) Quarantined() int { return s.target.Quarantined() }

// AdvanceVersion advances the resourceVersion without a change.
func (s *filterSink[V]) AdvanceVersion(resourceVersion string) {
	s.target.AdvanceVersion(resourceVersion)
	s.changed()
}

// Begin begins a replacement of the whole collection.
func (s *filterSink[V]) Begin() feed.Replacement {
	return &filterReplacement[V]{
		Replacement: s.target.Begin(), sink: s,
		filteredOut: make(map[string]string), refused: make(map[string]string), passed: make(map[string]struct{}),
	}
}

// filterReplacement is a replacement that holds only objects that pass the filter.
type filterReplacement[V any] struct {
	feed.Replacement
	sink        *filterSink[V]
	filteredOut map[string]string // becomes filterSink.filteredOut
	refused     map[string]string // keys of the list's objects that do not pass, and their newest version
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
	if r.sink.filter == nil || r.sink.isForeign(item) {
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
	delete(r.filteredOut, item.Key)
	if r.sink.Transforms() {
		r.passed[item.Key] = struct{}{}
	}
	return item, true
}

// refuse records that an item does not pass, and removes an earlier state that did.
func (r *filterReplacement[V]) refuse(item feed.Item) {
	if !feed.IsOlder(item.ResourceVersion, r.refused[item.Key]) {
		r.refused[item.Key] = item.ResourceVersion
	}
	if r.sink.isFilteredOut(item.Key, item.UID) || r.sink.Snapshot().Entry(item.Key) != nil {
		r.filteredOut[item.Key] = item.UID
	}
	if _, passed := r.passed[item.Key]; passed || !r.sink.Transforms() {
		r.Replacement.Remove(item)
	}
}

// Remove removes an item.
func (r *filterReplacement[V]) Remove(item feed.Item) {
	delete(r.filteredOut, item.Key)
	r.Replacement.Remove(item)
}

// Commit makes the replacement the state of the collection.
func (r *filterReplacement[V]) Commit(resourceVersion string) error {
	if refuser, ok := r.Replacement.(store.Refuser); ok && r.sink.feed != nil {
		refuser.Refuse(r.filteredOut)
		r.filteredOut = nil
	}
	before := r.sink.swapFilteredOut(r.filteredOut) // before a handler receives the deletions
	if err := r.Replacement.Commit(resourceVersion); err != nil {
		r.sink.swapFilteredOut(before)
		return err
	}
	r.sink.listed()
	r.sink.changed()
	return nil
}

// swapFilteredOut sets filteredOut and returns what it was before.
func (s *filterSink[V]) swapFilteredOut(next map[string]string) (before map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.filteredOut = s.filteredOut, next
	return before
}

// markFiltered records whether an object is filtered out, and returns what was recorded before.
func (s *filterSink[V]) markFiltered(item feed.Item, filtered bool) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, before = s.filteredOut[item.Key]
	switch {
	case !filtered:
		delete(s.filteredOut, item.Key)
	case s.filteredOut == nil:
		s.filteredOut = map[string]string{item.Key: item.UID}
	default:
		s.filteredOut[item.Key] = item.UID
	}
	return before
}

func (s *filterSink[V]) isFilteredOut(key, uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	filteredUID, ok := s.filteredOut[key]
	return ok && filteredUID == uid
}

// leftScope reports whether an object whose deletion is being delivered still exists.
func (s *filterSink[V]) leftScope(key string, value V) bool {
	if s.filter == nil {
		return false
	}
	uid, _ := s.identity(value)
	return s.isFilteredOut(key, uid)
}
