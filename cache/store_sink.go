// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// storeSink is the sink of a Reflector: it decodes every item and calls a ReflectorStore. One
// goroutine uses it, but for failures.
type storeSink[T Object] struct {
	store  ReflectorStore[T]
	report func(key string, err error)

	mu     sync.Mutex // guards failed
	failed failures
}

// failures are the objects whose newest state could not be stored.
type failures struct {
	keys    map[string]failedState
	unkeyed int // number of states without a readable key
}

// failedState is a state that could not be stored.
type failedState struct {
	version string
	err     error
}

func (f *failures) add(item feed.Item, err error) {
	if item.Key == "" {
		f.unkeyed++
		return
	}
	if f.keys == nil {
		f.keys = make(map[string]failedState)
	}
	f.keys[item.Key] = failedState{item.ResourceVersion, err}
}

var _ feed.Sink = (*storeSink[Object])(nil)

// Apply calls Add, Update or Delete. It calls nothing for the deletion of an unknown object.
func (s *storeSink[T]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	obj, held, outcome, err := s.compare(item)
	if err != nil && eventType == watch.Deleted {
		obj, held, outcome, err = s.compareLast(item, err)
	}
	switch {
	case err != nil:
	case eventType == watch.Deleted && !held:
		if failed, _ := s.failure(item.Key); feed.IsOlder(item.ResourceVersion, failed.version) {
			return feed.Stale
		}
		outcome = feed.Unchanged
	case outcome == feed.Stale, outcome == feed.Unchanged && eventType != watch.Deleted:
		return outcome
	case eventType == watch.Deleted:
		err, outcome = s.store.Delete(obj), feed.Applied
	case eventType == watch.Modified:
		err = s.store.Update(obj)
	default:
		err = s.store.Add(obj)
	}
	if err != nil {
		s.reject(item, err)
		return feed.Quarantined
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed.keys, item.Key)
	return outcome
}

// compare returns an item's object, or the store's if that has the same version. It reports whether
// the store holds the key, and whether it holds that version (Unchanged), a newer one (Stale) or
// neither (Applied).
func (s *storeSink[T]) compare(item feed.Item) (obj T, held bool, outcome feed.Outcome, err error) {
	if obj, err = codec.Decode[T](item); err != nil {
		return obj, false, feed.Quarantined, err
	}
	old, held, err := s.store.Get(obj)
	if err != nil || !held {
		return obj, held, feed.Applied, err
	}
	if outcome = s.compareVersions(old, item); outcome == feed.Unchanged {
		obj = old
	}
	return obj, held, outcome, nil
}

// compareVersions returns Unchanged if an item has the version of the stored object, Stale if it is
// older, and Applied otherwise. If the object's newest state could not be stored, the item is
// compared with that one: the stored object may be of before a restore of the server, with a higher
// version.
func (s *storeSink[T]) compareVersions(old Object, item feed.Item) feed.Outcome {
	failed, quarantined := s.failure(item.Key)
	same := feed.SameVersion(string(old.GetUID()), old.GetResourceVersion(), item.UID, item.ResourceVersion)
	newest := old.GetResourceVersion()
	if failed.version != "" {
		newest = failed.version
	}
	switch isOlder := feed.IsOlder(item.ResourceVersion, newest); {
	case same && (!quarantined || isOlder):
		return feed.Unchanged
	case !same && isOlder:
		return feed.Stale
	}
	return feed.Applied
}

// failure returns the state of an object that could not be stored.
func (s *storeSink[T]) failure(key string) (failed failedState, quarantined bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed, quarantined = s.failed.keys[key]
	return failed, quarantined
}

// compareLast is compare for a deletion whose state cannot be decoded because of cause: the object
// to delete is the store's.
func (s *storeSink[T]) compareLast(item feed.Item, cause error) (obj T, held bool, outcome feed.Outcome, err error) {
	obj, err = s.lastState(item.Key)
	switch {
	case errors.Is(err, errNotHeld):
		return obj, false, feed.Applied, nil
	case err != nil:
		return obj, false, feed.Quarantined, err
	}
	if outcome = s.compareVersions(obj, item); outcome != feed.Stale {
		s.report(item.Key, &feed.EffectError{Effect: feed.FinalStateUnknown, Err: fmt.Errorf("state at deletion: %w", cause)})
	}
	return obj, true, outcome, nil
}

var errNotHeld = errors.New("the store does not hold the key")

// lastState returns the store's object with a key. It asks with an object that has only a name.
func (s *storeSink[T]) lastState(key string) (T, error) {
	obj, ok := reflect.TypeAssert[T](reflect.New(reflect.TypeFor[T]().Elem()))
	namespace, name, err := SplitMetaNamespaceKey(key)
	if !ok || err != nil {
		return obj, errNotHeld
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return feed.CatchPanic(func() (T, error) {
		old, held, err := s.store.Get(obj)
		if err == nil && !held {
			err = errNotHeld
		}
		return old, err
	})
}

// HasVersion reports whether the store holds exactly this version of the object.
func (s *storeSink[T]) HasVersion(item feed.Item) bool {
	_, _, outcome, err := s.compare(item)
	return err == nil && outcome == feed.Unchanged
}

// AdvanceVersion does nothing: a ReflectorStore receives changes only.
func (s *storeSink[T]) AdvanceVersion(string) {}

// Quarantined returns the number of objects whose newest state could not be stored.
func (s *storeSink[T]) Quarantined() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failed.keys) + s.failed.unkeyed
}

// addTo adds these objects to a status.
func (s *storeSink[T]) addTo(status *Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status.Quarantined, status.Unkeyed = len(s.failed.keys), s.failed.unkeyed
	for _, key := range slices.Sorted(maps.Keys(s.failed.keys)) {
		if len(status.QuarantinedKeys) == maxQuarantinedKeys {
			return
		}
		err := fmt.Errorf("%w: %w", ErrNotStored, s.failed.keys[key].err)
		status.QuarantinedKeys = append(status.QuarantinedKeys, QuarantinedKey{Key: key, Err: err})
	}
}

func (s *storeSink[T]) reject(item feed.Item, err error) {
	s.mu.Lock()
	s.failed.add(item, err)
	s.mu.Unlock()
	_, missing := s.lastState(item.Key)
	s.reportObject(item.Key, missing == nil, err)
}

// reportObject reports that an object's newest state was not stored.
func (s *storeSink[T]) reportObject(key string, held bool, err error) {
	effect := feed.NotStored
	if held {
		effect = feed.LastStateKept
	}
	s.report(key, &feed.EffectError{Effect: effect, Err: err})
}

// Begin starts to collect a list.
func (s *storeSink[T]) Begin() feed.Replacement {
	return &storeReplacement[T]{sink: s, objs: make(map[string]collected[T])}
}
