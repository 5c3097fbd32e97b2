package cache

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	keys    map[string]error
	unkeyed int // number of states without a readable key
}

func (f *failures) add(key string, err error) {
	if key == "" {
		f.unkeyed++
		return
	}
	if f.keys == nil {
		f.keys = make(map[string]error)
	}
	f.keys[key] = err
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
		s.reject(item.Key, err)
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
	if outcome = compareVersions(old, item); outcome == feed.Unchanged {
		obj = old
	}
	return obj, held, outcome, nil
}

// compareVersions returns Unchanged if an item has the version of the stored object, Stale if it
// has an older one, and Applied otherwise.
func compareVersions(old Object, item feed.Item) feed.Outcome {
	if feed.SameVersion(string(old.GetUID()), old.GetResourceVersion(), item.UID, item.ResourceVersion) {
		return feed.Unchanged
	}
	if order, err := resourceversion.CompareResourceVersion(item.ResourceVersion, old.GetResourceVersion()); err == nil && order < 0 {
		return feed.Stale
	}
	return feed.Applied
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
	if outcome = compareVersions(obj, item); outcome != feed.Stale {
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
		err := fmt.Errorf("%w: %w", ErrNotStored, s.failed.keys[key])
		status.QuarantinedKeys = append(status.QuarantinedKeys, QuarantinedKey{Key: key, Err: err})
	}
}

func (s *storeSink[T]) reject(key string, err error) {
	s.mu.Lock()
	s.failed.add(key, err)
	s.mu.Unlock()
	_, missing := s.lastState(key)
	s.reportObject(key, missing == nil, err)
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
	return &storeReplacement[T]{sink: s, objs: make(map[string]T)}
}

// storeReplacement collects the objects for a call of Replace.
type storeReplacement[T Object] struct {
	sink            *storeSink[T]
	objs            map[string]T
	order           []string // keys in the order of the list; may have a removed key, or a key twice
	failed          failures
	compareContents bool // an equal version may be another state
}

// CompareContents says that an equal version does not imply an equal object.
func (r *storeReplacement[T]) CompareContents() { r.compareContents = true }

// Needs returns NeedsObject: a ReflectorStore takes objects.
func (r *storeReplacement[T]) Needs(feed.Item) (feed.Need, any) { return feed.NeedsObject, nil }

// Add collects an object, or the store's own if that has the same version. Since Replace delivers
// no events, CompareContents needs no comparison: the new object replaces the old one. For an
// object that cannot be decoded it collects the last good state.
func (r *storeReplacement[T]) Add(item feed.Item) {
	obj, _, outcome, err := r.sink.compare(item)
	if err == nil && outcome == feed.Unchanged && r.compareContents {
		obj, err = codec.Decode[T](item)
	}
	delete(r.failed.keys, item.Key)
	if err != nil {
		r.failed.add(item.Key, err)
		last, missing := r.sink.lastState(item.Key)
		r.sink.reportObject(item.Key, missing == nil, err)
		if missing != nil {
			return
		}
		obj = last
	}
	if _, again := r.objs[item.Key]; !again {
		r.order = append(r.order, item.Key)
	}
	r.objs[item.Key] = obj
}

// Remove removes an object that was added.
func (r *storeReplacement[T]) Remove(item feed.Item) {
	delete(r.failed.keys, item.Key)
	delete(r.objs, item.Key)
}

// Commit calls Replace. If the store returns an error, the list has failed.
func (r *storeReplacement[T]) Commit(resourceVersion string) error {
	objs := make([]T, 0, len(r.objs))
	for _, key := range r.order {
		if obj, ok := r.objs[key]; ok {
			objs = append(objs, obj)
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
