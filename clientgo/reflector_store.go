package clientgo

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/codec"
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
	obj, err := decodeItem(item)
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

func decodeItem(item feed.Item) (any, error) { return item.Decoded() }

// identityOnly returns an object that has only the identity of an item, for a deletion whose state
// cannot be decoded because of cause.
func (s *storeSink) identityOnly(item feed.Item, cause error) (any, error) {
	namespace, name, err := clientcache.SplitMetaNamespaceKey(item.Key)
	if err != nil || name == "" || s.objects.GoType == nil {
		return nil, cause
	}
	obj := reflect.New(s.objects.GoType.Elem()).Interface()
	accessor, err := meta.Accessor(obj)
	if err != nil {
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
	obj, err := decodeItem(item)
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
	obj, err := decodeItem(item)
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
