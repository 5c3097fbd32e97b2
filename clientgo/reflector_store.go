// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// storeSink is the sink of a Reflector: it writes to a store of client-go's interface.
type storeSink struct {
	store     clientcache.ReflectorStore
	objects   codec.ObjectType
	transform clientcache.TransformFunc // of the store; may be nil
	errors    *objectLog
	logger    func() klog.Logger

	failed map[string]struct{} // keys of the objects whose newest state could not be decoded
	// reached is the last resourceVersion. After a list without a version, unordered is true until
	// the first event other than ADDED: the events before are the initial state in no order.
	reached   string
	unordered bool
}

var _ feed.Sink = (*storeSink)(nil)

func newStoreSink(store clientcache.ReflectorStore, objects codec.ObjectType, logger func() klog.Logger) *storeSink {
	s := &storeSink{store: store, objects: objects, logger: logger, errors: newObjectLog(), failed: map[string]struct{}{}}
	if transforming, ok := store.(clientcache.TransformingStore); ok {
		s.transform = transforming.Transformer()
	}
	return s
}

// Apply calls Add, Update or Delete.
func (s *storeSink) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	obj, err := item.Decoded()
	if err != nil && eventType == watch.Deleted {
		obj, err = s.identityOnly(item, err)
	}
	if err != nil {
		s.failed[item.Key] = struct{}{}
		s.reportObject(item.Key, err)
		return feed.Quarantined
	}
	delete(s.failed, item.Key)
	if err := s.write(eventType, obj); err != nil {
		s.reportObject(item.Key, err)
	}
	s.unordered = s.unordered && eventType == watch.Added
	s.advance(item.ResourceVersion)
	return feed.Applied
}

func (s *storeSink) write(eventType watch.EventType, obj any) error {
	switch eventType {
	case watch.Deleted:
		return s.store.Delete(obj)
	case watch.Modified:
		return s.store.Update(obj)
	default:
		return s.store.Add(obj)
	}
}

// identityOnly returns an object that has only the identity of an item, for a deletion whose state
// cannot be decoded because of cause.
func (s *storeSink) identityOnly(item feed.Item, cause error) (runtime.Object, error) {
	namespace, name, err := clientcache.SplitMetaNamespaceKey(item.Key)
	if err != nil || name == "" || s.objects.GoType == nil {
		return nil, cause
	}
	obj, ok := reflect.TypeAssert[runtime.Object](reflect.New(s.objects.GoType.Elem()))
	accessor, err := meta.Accessor(obj)
	if !ok || err != nil {
		return nil, cause
	}
	accessor.SetNamespace(namespace)
	accessor.SetName(name)
	accessor.SetUID(types.UID(item.UID))
	accessor.SetResourceVersion(item.ResourceVersion)
	s.errors.log(s.logger(), item.Key, &feed.EffectError{Effect: feed.FinalStateUnknown, Err: fmt.Errorf("state at deletion: %w", cause)})
	return obj, nil
}

// AdvanceVersion passes on the version of a bookmark.
func (s *storeSink) AdvanceVersion(resourceVersion string) {
	if store, ok := s.store.(clientcache.ReflectorBookmarkStore); ok {
		if err := store.Bookmark(resourceVersion); err != nil {
			s.logger().Error(err, "Failed to pass a bookmark to the store")
		}
	}
	s.unordered = false
	s.advance(resourceVersion)
}

// advance passes the version reached on to a store that wants it.
func (s *storeSink) advance(resourceVersion string) {
	if s.unordered || feed.IsOlder(resourceVersion, s.reached) {
		return
	}
	s.reached = resourceVersion
	if store, ok := s.store.(clientcache.ResourceVersionUpdater); ok {
		store.UpdateResourceVersion(resourceVersion)
	}
}

// keyedStore is the method of client-go's stores that reads an object.
type keyedStore interface {
	GetByKey(key string) (item any, exists bool, err error)
}

// last returns the store's state of an object, if the store can be read and has one.
func (s *storeSink) last(key string) (any, bool) {
	store, ok := s.store.(keyedStore)
	if !ok {
		return nil, false
	}
	obj, err := feed.CatchPanic(func() (any, error) {
		obj, exists, err := store.GetByKey(key)
		if !exists {
			return nil, err
		}
		return obj, err
	})
	return obj, err == nil && obj != nil
}

// HasVersion reports whether the store can be read and holds exactly this version of the object.
func (s *storeSink) HasVersion(item feed.Item) bool {
	obj, ok := s.last(item.Key)
	uid, resourceVersion := identity(obj)
	return ok && feed.SameVersion(uid, resourceVersion, item.UID, item.ResourceVersion)
}

// Quarantined returns the number of objects whose newest state could not be decoded.
func (s *storeSink) Quarantined() int { return len(s.failed) }

// reportObject reports that an object's newest state was not stored.
func (s *storeSink) reportObject(key string, err error) {
	effect := feed.NotStored
	if _, held := s.last(key); held {
		effect = feed.LastStateKept
	}
	s.errors.log(s.logger(), key, &feed.EffectError{Effect: effect, Err: err})
}

// Begin starts to collect a list, or to pass it to an ItemReplacer.
func (s *storeSink) Begin() feed.Replacement {
	r := &replacement{sink: s, listed: map[string]listed{}, failed: map[string]struct{}{}, objs: []any{}}
	if store, ok := s.store.(ItemReplacer); ok {
		r.items = store.BeginReplace()
	}
	return r
}
