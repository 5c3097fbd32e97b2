// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// pod is a type of Pods that an informer of package cache keeps.
type pod interface {
	*corev1.Pod | *partialPod
	cache.Object
}

// typed is a cache.SharedInformer.
type typed[T pod] struct {
	*cache.SharedInformer[T]
}

// whole is a typed informer of Pods.
type whole struct{ typed[*corev1.Pod] }

func (i whole) waitFor(ctx context.Context, pod *corev1.Pod) error { return i.WaitForObject(ctx, pod) }

func (i whole) waitForDelete(ctx context.Context, pod *corev1.Pod) error {
	return i.WaitForDelete(ctx, pod)
}

// partial is a typed informer of some fields of Pods.
type partial struct{ typed[*partialPod] }

func (i partial) waitFor(ctx context.Context, pod *corev1.Pod) error {
	return cache.WaitForAPIObject(ctx, i.SharedInformer, pod)
}

func (i partial) waitForDelete(ctx context.Context, pod *corev1.Pod) error {
	return i.WaitForDelete(ctx, &partialPod{ObjectMeta: pod.ObjectMeta})
}

func newTyped[T pod](s *server, o options, report cache.ErrorHandler, example T) typed[T] {
	options := cache.InformerOptions[T]{
		ResyncPeriod: o.Resync, Packed: o.Packed, ShareEqual: o.ShareEqual, WatchList: o.WatchList, PageSize: o.PageSize,
		ErrorHandler: report, Logger: logr.Discard(), OmitFields: omitted(o.Omit), Served: s.availability.option(),
		Indexers: cache.Indexers[T]{nodeIndex: cache.ByObject(func(pod T) ([]string, error) { return s.functions.indexNode(pod) })},
	}
	if !o.NoTransform {
		options.Transform = func(pod T) (T, error) { return pod, s.functions.transform(pod) }
	}
	if o.Functions {
		options.Filter = func(pod T) bool { return s.functions.filter(pod) }
	}
	var source cache.ListerWatcher = s
	if s.network != nil {
		options.Limits.Object = maxObject
		source = cache.NewListWatchFromClient(s.network.client(), cachetest.PodResource.Resource, metav1.NamespaceAll, nil)
	}
	return typed[T]{cache.NewSharedInformer(source, example, options)}
}

func (i typed[T]) view() view {
	return i.snapshot()()
}

// snapshot returns a function that reads a snapshot.
func (i typed[T]) snapshot() func() view {
	snapshot := i.Store().Snapshot()
	return func() view { return viewOf(snapshot) }
}

func viewOf[T pod](snapshot cache.Snapshot[T]) view {
	v := view{snapshot.ResourceVersion(), make(map[string]cache.Object), make(map[string][]string)}
	for key, pod := range snapshot.All() {
		v.pods[key] = pod
	}
	values, _ := snapshot.ListIndexValues(nodeIndex)
	for _, value := range values {
		v.byNode[value], _ = snapshot.IndexKeys(nodeIndex, value)
	}
	return v
}

func (i typed[T]) get(key string) cache.Object {
	pod, _ := i.Store().GetByKey(key)
	return objectOf(pod)
}

func (i typed[T]) keyError(key string) error { return i.Store().KeyError(key) }

// objectOf returns a Pod; nil if there is none.
func objectOf[T pod](pod T) cache.Object {
	if pod == nil {
		return nil
	}
	return pod
}

// objectEvent returns an event with Pods of any type.
func objectEvent[T pod](e cache.Event[T]) cache.Event[cache.Object] {
	return cache.Event[cache.Object]{
		Type: e.Type, Key: e.Key, Old: objectOf(e.Old), New: objectOf(e.New), Final: objectOf(e.Final), FinalStateUnknown: e.FinalStateUnknown,
		InInitialList: e.InInitialList, LeftScope: e.LeftScope, Coalesced: e.Coalesced,
	}
}

func (i typed[T]) add(r *recorder) (registration, error) {
	options := cache.HandlerOptions{
		Name: r.name, ResyncPeriod: r.spec.Resync, EveryEvent: r.spec.EveryEvent, WithoutOld: r.spec.WithoutOld, ContinueOnPanic: true,
	}
	batch := func(events []cache.Event[T]) {
		all := make([]cache.Event[cache.Object], 0, len(events))
		for _, e := range events {
			all = append(all, objectEvent(e))
		}
		r.batch(all)
	}
	one := cache.EventHandlerFunc[T](func(e cache.Event[T]) { batch([]cache.Event[T]{e}) })
	var added *cache.Registration
	var err error
	switch r.spec.Kind {
	case kindKey:
		added, err = i.AddKeyHandler(func(event cache.KeyEvent) { r.key(event.Key) }, options)
	case kindBatch:
		added, err = i.AddBatchHandler(batch, options)
	case kindFilter:
		filter := func(pod T) bool { return accepts(pod) }
		added, err = i.AddEventHandler(cache.FilteringResourceEventHandler[T]{FilterFunc: filter, Handler: one}, options)
	default:
		added, err = i.AddEventHandler(one, options)
	}
	if err != nil {
		return registration{}, err
	}
	return registration{added.HasSynced, added.Stop}, nil
}
