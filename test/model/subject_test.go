// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// subject is the informer under test.
type subject interface {
	Run(ctx context.Context) error
	Status() cache.Status
	waitFor(ctx context.Context, pod *corev1.Pod) error
	waitForDelete(ctx context.Context, pod *corev1.Pod) error
	view() view
	get(key string) cache.Object
	// add adds a handler and returns functions that remove it.
	add(r *recorder) (registration, error)
}

// registration is a handler that was added.
type registration struct {
	synced func() bool
	remove func(wait context.Context) error
}

// view is the content of a store.
type view struct {
	version string
	pods    map[string]cache.Object // *corev1.Pod or *partialPod
	byNode  map[string][]string     // the keys of each value of the index
}

func newSubject(s *server, o options, report cache.ErrorHandler) subject {
	switch {
	case o.Reference:
		return newReference(s, o)
	case o.Adapter:
		return newAdapter(s, o)
	case o.Partial:
		return partial{newTyped(s, o, report, &partialPod{})}
	}
	return whole{newTyped(s, o, report, &corev1.Pod{})}
}

// omitted returns the fields that the informer omits.
func omitted(omit bool) []string {
	if omit {
		return []string{"metadata.managedFields"}
	}
	return nil
}

// adapter is an informer of package clientgo.
type adapter struct {
	sharedIndexInformer
	*cache.Controller
}

// watchListGate is client-go's feature gates, of which the feature WatchListClient is that of the
// program that runs. A ListerWatcher that declared that it does not support WatchList would be
// taken for a fake of client-go, whose requests are not limited.
type watchListGate struct {
	features.Gates
	enabled atomic.Bool
}

func (g *watchListGate) Enabled(feature features.Feature) bool {
	if feature == features.WatchListClient {
		return g.enabled.Load()
	}
	return g.Gates.Enabled(feature)
}

// watchListClient is the gate of all programs, which run one after the other.
var watchListClient = watchListGate{Gates: features.FeatureGates()}

func newAdapter(s *server, o options) adapter {
	options := clientgo.Options{Packed: o.Packed, ShareEqual: o.ShareEqual, RelistUpdates: o.RelistUpdates, Streaming: o.Wire != "", OmitFields: omitted(o.Omit), CoalesceWhenBehind: o.Coalesce}
	if o.Served {
		options.Served = func(schema.GroupVersionResource) *cache.Served { return s.availability.option() }
	}
	if s.network != nil {
		options.Limits.Object = maxObject
	}
	if o.Functions {
		options.Filter = func(obj any) bool { return s.functions.filter(obj.(*corev1.Pod)) }
	}
	informer := options.NewInformer(s.listerWatcher(o), &corev1.Pod{}, o.Resync, s.nodeIndexers())
	s.setFunctions(informer)
	return adapter{sharedIndexInformer{informer}, clientgo.ControllerOf(informer)}
}

// listerWatcher returns the server as client-go's informers read it.
func (s *server) listerWatcher(o options) clientcache.ListerWatcher {
	lw := &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return s.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return s.Watch(ctx, options)
		},
	}
	if s.network != nil {
		lw = clientcache.NewListWatchFromClient(s.network.client(), cachetest.PodResource.Resource, metav1.NamespaceAll, fields.Everything())
	}
	watchListClient.enabled.Store(o.WatchList)
	return lw
}

func (s *server) nodeIndexers() clientcache.Indexers {
	return clientcache.Indexers{
		nodeIndex: func(obj any) ([]string, error) { return s.functions.indexNode(obj.(*corev1.Pod)) },
	}
}

// setFunctions sets the functions of an informer that has not run.
func (s *server) setFunctions(informer clientcache.SharedIndexInformer) {
	if !s.functions.options.NoTransform {
		_ = informer.SetTransform(func(obj any) (any, error) { return obj, s.functions.transform(obj.(*corev1.Pod)) })
	}
	_ = informer.SetWatchErrorHandler(func(_ *clientcache.Reflector, err error) { s.functions.report(context.Background(), err) })
}

func (a adapter) Run(ctx context.Context) error { return a.Controller.Run(ctx) }

func (a adapter) HasSynced() bool { return a.sharedIndexInformer.HasSynced() }

func (a adapter) LastSyncResourceVersion() string {
	return a.sharedIndexInformer.LastSyncResourceVersion()
}

func (a adapter) waitFor(ctx context.Context, pod *corev1.Pod) error {
	return a.WaitForObject(ctx, pod)
}

func (a adapter) waitForDelete(ctx context.Context, pod *corev1.Pod) error {
	return a.WaitForDelete(ctx, pod)
}

// sharedIndexInformer is read, and receives handlers, by client-go's interface.
type sharedIndexInformer struct {
	clientcache.SharedIndexInformer
}

func (a sharedIndexInformer) view() view {
	v := view{a.LastSyncResourceVersion(), make(map[string]cache.Object), make(map[string][]string)}
	for _, obj := range a.GetIndexer().List() {
		pod := obj.(*corev1.Pod)
		v.pods[stateOf(pod).key] = pod
	}
	for _, value := range a.GetIndexer().ListIndexFuncValues(nodeIndex) {
		v.byNode[value], _ = a.GetIndexer().IndexKeys(nodeIndex, value)
	}
	return v
}

func (a sharedIndexInformer) get(key string) cache.Object {
	obj, exists, _ := a.GetStore().GetByKey(key)
	if !exists {
		return nil
	}
	return obj.(*corev1.Pod)
}

func (a sharedIndexInformer) add(r *recorder) (registration, error) {
	options := clientcache.HandlerOptions{}
	if r.spec.Resync != 0 {
		options.ResyncPeriod = &r.spec.Resync
	}
	added, err := a.AddEventHandlerWithOptions(clientGoHandler(r), options)
	if err != nil {
		return registration{}, err
	}
	return registration{added.HasSynced, func(context.Context) error { return a.RemoveEventHandler(added) }}, nil
}

// clientGoHandler returns a handler of client-go that passes its events to r.
func clientGoHandler(r *recorder) clientcache.ResourceEventHandler {
	handler := clientcache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, _ bool) { r.event(cache.EventAdd, nil, obj.(*corev1.Pod)) },
		UpdateFunc: func(old, obj any) { r.event(cache.EventUpdate, old.(*corev1.Pod), obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) { r.event(cache.EventDelete, podIn(obj), nil) },
	}
	if r.spec.Kind == kindFilter {
		return clientcache.FilteringResourceEventHandler{FilterFunc: func(obj any) bool { return accepts(podIn(obj)) }, Handler: handler}
	}
	return handler
}

// podIn returns the Pod that an event of client-go has, which may be a tombstone.
func podIn(obj any) *corev1.Pod {
	if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	return obj.(*corev1.Pod)
}
