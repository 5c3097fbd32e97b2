package cache

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// storeSink feeds a ReflectorStore: every item becomes an object, every event a
// call. One goroutine uses it.
type storeSink[T Object] struct {
	store  ReflectorStore[T]
	report func(key string, err error)
	sick   map[string]struct{} // keys that could not be stored
}

var _ feed.Sink = (*storeSink[Object])(nil)

// Apply calls Add, Update or Delete; nothing for a deletion of what is not there.
func (s *storeSink[T]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	obj, held, outcome, err := s.compare(item)
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
	delete(s.sick, item.Key)
	return outcome
}

// compare returns an item's object, or the store's if that is the same version;
// whether the store holds the key; and whether it has that version already
// (Unchanged), a newer one (Stale), or not yet (Applied).
func (s *storeSink[T]) compare(item feed.Item) (obj T, held bool, outcome feed.Outcome, err error) {
	if obj, err = decode[T](item); err != nil {
		return obj, false, feed.Quarantined, err
	}
	old, held, err := s.store.Get(obj)
	if err != nil || !held {
		return obj, held, feed.Applied, err
	}
	if feed.SameVersion(string(old.GetUID()), old.GetResourceVersion(), item.UID, item.ResourceVersion) {
		return old, held, feed.Unchanged, nil
	}
	if order, err := resourceversion.CompareResourceVersion(item.ResourceVersion, old.GetResourceVersion()); err == nil && order < 0 {
		return obj, held, feed.Stale, nil
	}
	return obj, held, feed.Applied, nil
}

var errUnknown = errors.New("it is not there")

// last returns what the store has under a key, asking with an object that has nothing but
// the name.
func (s *storeSink[T]) last(key string) (T, error) {
	obj, ok := reflect.TypeAssert[T](reflect.New(reflect.TypeFor[T]().Elem()))
	namespace, name, err := SplitMetaNamespaceKey(key)
	if !ok || err != nil {
		return obj, errUnknown
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	old, held, err := s.store.Get(obj)
	if err == nil && !held {
		err = errUnknown
	}
	return old, err
}

// Holds tells whether the store has exactly this version of the object.
func (s *storeSink[T]) HasVersion(item feed.Item) bool {
	_, _, outcome, err := s.compare(item)
	return err == nil && outcome == feed.Unchanged
}

// Progress does nothing: a ReflectorStore hears of changes only.
func (s *storeSink[T]) AdvanceVersion(string) {}

// Quarantined returns how many objects could not be stored.
func (s *storeSink[T]) Quarantined() int { return len(s.sick) }

func (s *storeSink[T]) reject(key string, err error) {
	if s.sick == nil {
		s.sick = make(map[string]struct{})
	}
	s.sick[key] = struct{}{}
	s.report(key, err)
}

// Begin starts collecting a list.
func (s *storeSink[T]) Begin() feed.Replacement {
	return &storeReplacement[T]{sink: s, objs: make(map[string]T)}
}

// storeReplacement is a list on its way to Replace.
type storeReplacement[T Object] struct {
	sink     *storeSink[T]
	objs     map[string]T
	order    []string // keys as they came; one that was taken out again may be there still, or twice
	sick     map[string]struct{}
	distrust bool // the same version may be another state
}

// Distrust says that versions do not tell whether an object has changed.
func (r *storeReplacement[T]) CompareContents() { r.distrust = true }

// Needs is always the object: that is all a ReflectorStore knows.
func (r *storeReplacement[T]) Needs(feed.Item) feed.Need { return feed.NeedsObject }

// Add collects an object: the store's own, if that is the same version. What is
// replaced is told to nobody, so with Distrust the newcomer will do. In place of one that
// cannot be stored goes its last good state.
func (r *storeReplacement[T]) Add(item feed.Item) {
	obj, _, outcome, err := r.sink.compare(item)
	if err == nil && outcome == feed.Unchanged && r.distrust {
		obj, err = decode[T](item)
	}
	delete(r.sick, item.Key)
	if err != nil {
		if r.sick == nil {
			r.sick = make(map[string]struct{})
		}
		r.sick[item.Key] = struct{}{}
		r.sink.report(item.Key, err)
		if obj, err = r.sink.last(item.Key); err != nil {
			return
		}
	}
	if _, again := r.objs[item.Key]; !again {
		r.order = append(r.order, item.Key)
	}
	r.objs[item.Key] = obj
}

// Remove takes an object out again.
func (r *storeReplacement[T]) Remove(item feed.Item) {
	delete(r.sick, item.Key)
	delete(r.objs, item.Key)
}

// Commit replaces the store's content. If the store refuses, the list has failed.
func (r *storeReplacement[T]) Commit(resourceVersion string) error {
	objs := make([]T, 0, len(r.objs))
	for _, key := range r.order {
		if obj, ok := r.objs[key]; ok {
			objs = append(objs, obj)
			delete(r.objs, key)
		}
	}
	if err := r.sink.store.Replace(objs, resourceVersion); err != nil {
		return fmt.Errorf("the store refuses it: %w", err)
	}
	r.sink.sick = r.sick
	return nil
}
