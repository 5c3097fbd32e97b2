// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package storewriter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// Sink is the sink of a reflector. One goroutine uses it, but for Failures and Quarantined.
type Sink[T any] struct {
	config Config[T]

	mu     sync.Mutex // guards failed
	failed Failures
}

// Failures are the objects whose newest state could not be stored.
type Failures struct {
	Keys    map[string]Failure
	Unnamed int // number of states without a readable key
}

// Failure is a state that could not be stored.
type Failure struct {
	Err     error
	version string
}

func (f *Failures) add(item feed.Item, err error) {
	if item.Key == "" {
		f.Unnamed++
		return
	}
	f.Keys[item.Key] = Failure{err, item.ResourceVersion}
}

var _ feed.Sink = (*Sink[any])(nil)

// New returns a sink.
func New[T any](config Config[T]) *Sink[T] {
	return &Sink[T]{config: config, failed: Failures{Keys: make(map[string]Failure)}}
}

// Apply calls Add, Update or Delete.
func (s *Sink[T]) Apply(eventType watch.EventType, item feed.Item) (outcome feed.Outcome) {
	obj, err := decode[T](&item)
	switch {
	case eventType == watch.Deleted:
		outcome, err = s.applyDeletion(item, obj, err)
	case err == nil:
		outcome, err = s.applyState(eventType, item, obj)
	}
	if err != nil {
		s.reject(item, err)
		return feed.Quarantined
	}
	if outcome == feed.Applied && !item.Repeated || outcome == feed.Unchanged && eventType == watch.Deleted {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.failed.Keys, item.Key)
	}
	return outcome
}

// decode returns an item's object, and sets it in the item.
func decode[T any](item *feed.Item) (T, error) {
	obj, err := codec.Decode[T](*item)
	if err == nil {
		item.Object, _ = any(obj).(runtime.Object)
	}
	return obj, err
}

func (s *Sink[T]) applyState(eventType watch.EventType, item feed.Item, obj T) (feed.Outcome, error) {
	if s.config.Compare || item.Repeated {
		old, held, outcome, err := s.stored(item)
		switch {
		case err != nil:
			return feed.Quarantined, err
		case held && outcome == feed.Stale, outcome == feed.Unchanged && (!item.Repeated || s.isEqual(old, item)):
			return outcome, nil
		}
	}
	if eventType == watch.Modified {
		return s.written(item, s.config.Store.Update(obj))
	}
	return s.written(item, s.config.Store.Add(obj))
}

// isEqual reports whether a stored object has the contents of an item's.
func (s *Sink[T]) isEqual(old T, item feed.Item) bool {
	item.Object = item.Object.DeepCopyObject() // which the transform may modify
	obj, err := s.decodeListed(&item)
	return err == nil && isEqual(old, obj)
}

// decodeListed returns the object of an item as the store has it.
func (s *Sink[T]) decodeListed(item *feed.Item) (T, error) {
	obj, err := decode[T](item)
	if err != nil || s.config.Transform == nil {
		return obj, err
	}
	return feed.CatchPanic(func() (T, error) { return s.config.Transform(obj) })
}

// applyDeletion applies a DELETED event. cause is the error if its state cannot be decoded.
func (s *Sink[T]) applyDeletion(item feed.Item, obj T, cause error) (feed.Outcome, error) {
	if s.config.Compare {
		old, held, outcome, err := s.stored(item)
		switch {
		case err != nil, outcome == feed.Stale:
			return outcome, err
		case !held:
			return feed.Unchanged, nil
		case cause != nil:
			s.reportFinal(item, cause)
			obj, cause = old, nil
		}
	}
	obj, err := s.finalState(item, obj, cause)
	if err != nil {
		return feed.Quarantined, err
	}
	return s.written(item, s.config.Store.Delete(obj))
}

// finalState returns the object of a deletion, or its identity if that is all that can be read.
func (s *Sink[T]) finalState(item feed.Item, obj T, cause error) (T, error) {
	if cause == nil {
		return obj, nil
	}
	obj, ok := IdentityOnly[T](item, s.config.GoType)
	if !ok {
		return obj, cause
	}
	s.reportFinal(item, cause)
	return obj, nil
}

func (s *Sink[T]) reportFinal(item feed.Item, cause error) {
	s.config.Report(item.Key, &feed.EffectError{Effect: feed.FinalStateUnknown, Err: fmt.Errorf("state at deletion: %w", cause)})
}

// written returns the outcome of a write. Without Config.Compare its error is only reported.
func (s *Sink[T]) written(item feed.Item, err error) (feed.Outcome, error) {
	if err != nil && !s.config.Compare {
		s.reportWrite(item, err)
		err = nil
	}
	return feed.Applied, err
}

// stored returns the stored object of an item, and Unchanged if that has the item's version, Stale
// if the item is older, and Applied otherwise. If the object's newest state could not be stored,
// the item is compared with that one: the stored object may be of before a restore of the server,
// with a higher version.
func (s *Sink[T]) stored(item feed.Item) (old T, held bool, outcome feed.Outcome, err error) {
	if item.Object == nil || !s.config.Compare { // the store may not be made for such calls
		defer feed.RecoverPanic("Get", &err)
	}
	old, held, err = s.config.Get(item)
	if err != nil {
		return old, false, feed.Quarantined, err
	}
	s.mu.Lock()
	failed, quarantined := s.failed.Keys[item.Key]
	s.mu.Unlock()
	same, newest, another := false, failed.version, false
	if held {
		meta := metaOf(old)
		same = feed.SameVersion(string(meta.GetUID()), meta.GetResourceVersion(), item.UID, item.ResourceVersion)
		newest = cmp.Or(newest, meta.GetResourceVersion())
		another = meta.GetUID() != "" && item.UID != "" && string(meta.GetUID()) != item.UID
	}
	switch isOlder := feed.IsOlder(item.ResourceVersion, newest); {
	case item.InOrder, item.Unordered && another:
	case same && (!quarantined || isOlder):
		outcome = feed.Unchanged
	case !same && isOlder:
		outcome = feed.Stale
	}
	return old, held, outcome, nil
}

// HasVersion reports whether the store holds exactly this version of the object.
func (s *Sink[T]) HasVersion(item feed.Item) bool {
	_, _, outcome, _ := s.stored(item)
	return outcome == feed.Unchanged
}

// CountUnreadable counts a state without a readable key.
func (s *Sink[T]) CountUnreadable(err error) {
	s.mu.Lock()
	s.failed.Unnamed++
	s.mu.Unlock()
	s.config.Report("", &feed.EffectError{Effect: feed.Absent, Err: err})
}

// AdvanceVersion does nothing: a Store receives changes only.
func (s *Sink[T]) AdvanceVersion(string) {}

// NeedsList reports false: all objects are removed by a list, or by their deletions.
func (s *Sink[T]) NeedsList() bool { return false }

// Quarantined returns the number of objects whose newest state could not be stored.
func (s *Sink[T]) Quarantined() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failed.Keys) + s.failed.Unnamed
}

// Failures returns a copy of these objects.
func (s *Sink[T]) Failures() Failures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Failures{maps.Clone(s.failed.Keys), s.failed.Unnamed}
}

// reject quarantines the object of an event whose state cannot be stored. It deletes a predecessor.
func (s *Sink[T]) reject(item feed.Item, err error) {
	old, held, outcome, _ := s.stored(item)
	if held && outcome != feed.Stale && isPredecessor(old, item) {
		failed := s.config.Store.Delete(old)
		err, held = errors.Join(err, failed), failed != nil
	}
	s.mu.Lock()
	s.failed.add(item, err)
	s.mu.Unlock()
	s.report(item, held, err)
}

// reportWrite reports an error of the store that does not quarantine the object.
func (s *Sink[T]) reportWrite(item feed.Item, err error) {
	_, held, _, _ := s.stored(item)
	s.report(item, held, err)
}

func (s *Sink[T]) report(item feed.Item, held bool, err error) {
	effect := feed.Absent
	if held {
		effect = feed.LastStateKept
	}
	s.config.Report(item.Key, &feed.EffectError{Effect: effect, Err: err})
}

// Begin starts a list.
func (s *Sink[T]) Begin() feed.Replacement {
	r := &replacement[T]{
		sink:       s,
		objs:       []T{},
		listed:     make(map[string]listed),
		failed:     Failures{Keys: make(map[string]Failure)},
		duplicates: make(map[string]bool),
	}
	if s.config.Begin != nil {
		r.list = s.config.Begin()
	}
	return r
}
