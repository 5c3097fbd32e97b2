// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// decodedSource reads the lists and watch.Interfaces that a ListerWatcher returns.
type decodedSource struct {
	lw      ListerWatcher
	objects codec.ObjectType
	unnamed bool // see Config.Unnamed
	omit    *fields.Omitted
	retries *clientRetries
	traffic *traffic
	traits  *traits
}

var _ feed.Source = decodedSource{}

// List makes one list request.
func (s decodedSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	list, err := s.request(ctx, options)
	s.traffic.record(verbList, tap.Response{}, err)
	if err != nil {
		s.retries.check(ctx, err)
		return metav1.ListMeta{}, s.objects.WithoutValues(err)
	}
	return s.addAll(list, options, add)
}

// request requests a list. The caller redacts the error by ObjectType.WithoutValues, once a tap
// does not hide its text any more.
func (s decodedSource) request(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	request := s.traits.trace(ctx)
	return await(ctx, "List", func() (runtime.Object, error) { return s.lw.List(request, options) }, nil)
}

// addAll passes on the items of the list that options have requested. A list in one piece with
// items of another type alone is an error.
func (s decodedSource) addAll(list runtime.Object, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	page, err := s.checkList(list)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	n, isOfType := 0, false
	var otherType error
	// WithAlloc: an item that stays in the cache must not keep the whole list alive.
	err = meta.EachListItemWithAlloc(list, func(obj runtime.Object) error {
		item, err := s.item(withKindOf(obj, list))
		item = inList(item, n, err)
		switch {
		case errors.Is(err, codec.ErrOtherType):
			otherType = cmp.Or(otherType, err)
		case !errors.Is(err, errNilObject):
			isOfType = true
		}
		n++
		item.Received = obj
		return add(item)
	})
	if isPage := options.Continue != "" || page.Continue != ""; err == nil && otherType != nil && !isOfType && !isPage {
		return page, fmt.Errorf("no item of the list is of its type: %w", otherType)
	}
	return page, err
}

// checkList returns a list's metadata, or an error if it is not a list of the collection's type.
func (s decodedSource) checkList(list runtime.Object) (metav1.ListMeta, error) {
	if codec.IsNil(list) {
		return metav1.ListMeta{}, errors.New("the list is nil")
	}
	switch list.(type) {
	case *metav1.Table:
		return metav1.ListMeta{}, fmt.Errorf("the server sent a Table, which holds rows for printing, not %s", s.objects)
	case *metav1.Status:
		return metav1.ListMeta{}, apierrors.FromObject(list)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil || !meta.IsListType(list) {
		return metav1.ListMeta{}, fmt.Errorf("expected a list of %s, got %T", s.objects, list)
	}
	if items := codec.ItemType(reflect.TypeOf(list)); items != nil && items != s.objects.GoType && s.objects.GoType != nil {
		return metav1.ListMeta{}, fmt.Errorf("expected a list of %s, got %T", s.objects, list)
	}
	return metav1.ListMeta{
		ResourceVersion:    accessor.GetResourceVersion(),
		Continue:           accessor.GetContinue(),
		RemainingItemCount: accessor.GetRemainingItemCount(),
		ShardInfo:          shardInfo(list),
	}, nil
}

// shardInfo returns the shardInfo of a list, or nil if it has none. The interface of an
// unstructured list does not have it.
func shardInfo(list runtime.Object) *metav1.ShardInfo {
	switch list := list.(type) {
	case metav1.ShardedListInterface:
		return list.GetShardInfo()
	case *unstructured.UnstructuredList:
		selector, found, err := unstructured.NestedString(list.Object, "metadata", "shardInfo", "selector")
		if found && err == nil {
			return &metav1.ShardInfo{Selector: selector}
		}
	}
	return nil
}

// withKindOf sets the kind of an unstructured item without one from its list, as apimachinery does
// when it decodes a list.
func withKindOf(obj, list runtime.Object) runtime.Object {
	item, ok := obj.(*unstructured.Unstructured)
	if !ok || item.GetKind() != "" {
		return obj
	}
	gvk := list.GetObjectKind().GroupVersionKind()
	if kind, ok := strings.CutSuffix(gvk.Kind, "List"); ok && kind != "" {
		item.SetGroupVersionKind(gvk.GroupVersion().WithKind(kind))
	}
	return item
}

var (
	errNilObject   = errors.New("object is nil")
	errUnknownType = errors.New("unknown event type")
)

// item returns the feed's form of an object of the collection's type.
func (s decodedSource) item(obj runtime.Object) (feed.Item, error) {
	if codec.IsNil(obj) {
		return feed.Item{}, errNilObject
	}
	if err := s.objects.Check(obj); err != nil {
		return feed.Item{}, err
	}
	item, err := s.named(obj)
	if err != nil {
		return item, err
	}
	if item.Object, err = s.objects.Kept(s.omit.Without(obj)); err != nil { // a copy: others may hold obj
		item.Codec = feed.ErrorCodec{Err: err} // this object fails alone
	}
	return item, nil
}

// named returns the item of an object without the object. With an error, it has what is known of
// the object's identity.
func (s decodedSource) named(obj runtime.Object) (feed.Item, error) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return feed.Item{}, fmt.Errorf("%T has no metadata: %w", obj, err)
	}
	item := feed.Item{UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion()}
	if object.GetName() == "" && !s.unnamed {
		return item, fmt.Errorf("%T in namespace %s: %w", obj, wire.Quote(object.GetNamespace()), feed.ErrNoName)
	}
	key := codec.Key(object)
	if len(key) > maxKey {
		return item, fmt.Errorf("%T named %s: %w", obj, wire.Quote(key), errLongName)
	}
	item.Key = key
	return item, nil
}

var (
	errLongName = fmt.Errorf("metadata.name and namespace are longer than %d bytes", maxKey)
)

// inList returns the item at index of a list. If there is an error, only that item is refused.
func inList(item feed.Item, index int, err error) feed.Item {
	if err == nil {
		return item
	}
	return unreadable(item, fmt.Errorf("item %d of the list: %w", index, err))
}

// inEvent returns the error of an event.
func inEvent(eventType watch.EventType, err error) error {
	return fmt.Errorf("%s event: %w", cmp.Or(eventType, "unknown"), err)
}

// unreadable returns an item with what is known of an object that cannot be read.
func unreadable(item feed.Item, err error) feed.Item {
	if len(item.ResourceVersion) > maxVersion {
		item.ResourceVersion = ""
	}
	return feed.Item{Key: item.Key, UID: item.UID, ResourceVersion: item.ResourceVersion, Codec: feed.ErrorCodec{Err: err}}
}

// Watch makes one watch request.
func (s decodedSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	stream, err := s.open(ctx, options)
	s.traffic.record(verbWatch, tap.Response{}, err)
	if err != nil {
		s.retries.check(ctx, err)
		return s.objects.WithoutValues(err)
	}
	return s.follow(ctx, options, stream, events)
}

// Traits implements feed.Source.
func (s decodedSource) Traits() feed.Traits { return s.traits.get() }

// open opens a watch. The caller redacts the error, as that of request.
func (s decodedSource) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	request := s.traits.trace(ctx)
	stream, err := await(ctx, "Watch", func() (watch.Interface, error) { return s.lw.Watch(request, options) },
		func(late watch.Interface) error { return stopWatch(ctx, late) })
	if err == nil && codec.IsNil(stream) {
		err = errNilWatch
	}
	return stream, err
}

// follow passes on the events of a stream until it ends.
func (s decodedSource) follow(ctx context.Context, options metav1.ListOptions, stream watch.Interface, events feed.WatchSink) (err error) {
	defer func() {
		if stopErr := stopWatch(ctx, stream); stopErr != nil && !feed.IsPanic(err) {
			err = stopErr
		}
	}()
	results, err := resultChan(stream)
	if err != nil {
		return err
	}
	s.traits.opened(stream)
	events.Opened()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-fakeSilence(stream, options):
			return feed.ErrNoInitialEvents
		case event, ok := <-results:
			if !ok {
				return nil
			}
			if event.Type == watch.Bookmark {
				options.SendInitialEvents = nil // they have ended
			}
			if err := s.deliver(event, events); err != nil {
				if ctx.Err() != nil { // a cancelled stream may end with an ERROR event
					return ctx.Err()
				}
				return err
			}
		}
	}
}

func (s decodedSource) deliver(event watch.Event, events feed.WatchSink) error {
	if !codec.IsNil(event.Object) {
		if err := statusError(event.Object); err != nil {
			return s.objects.WithoutValues(err)
		}
	}
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		item, err := s.item(event.Object)
		if err != nil {
			return events.Unreadable(event.Type, unreadable(item, inEvent(event.Type, err)))
		}
		item.Received = event.Object
		return events.Event(event.Type, item)
	case watch.Bookmark:
		accessor, err := meta.Accessor(event.Object)
		if err != nil || codec.IsNil(event.Object) {
			return events.Bookmark("", false) // it brings nothing
		}
		end := accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
		return events.Bookmark(accessor.GetResourceVersion(), end)
	case watch.Error:
		return fmt.Errorf("%s event: expected a Status, got %T%s", event.Type, event.Object, codec.QuotedName(event.Object))
	default:
		item, err := s.item(event.Object)
		return events.Unreadable("", unreadable(item, inEvent("", cmp.Or(err, errUnknownType))))
	}
}

// statusError returns the error of the server that obj is if it is a Status, whatever the type of
// its event, and nil otherwise.
func statusError(obj runtime.Object) error {
	switch o := obj.(type) {
	case *metav1.Status:
		return apierrors.FromObject(o)
	case *unstructured.Unstructured:
		if version := o.GetAPIVersion(); o.GetKind() != "Status" || version != "" && version != "v1" {
			return nil
		}
		if err := apierrors.FromObject(o); !apierrors.IsUnexpectedObjectError(err) {
			return err
		}
	}
	return nil
}
