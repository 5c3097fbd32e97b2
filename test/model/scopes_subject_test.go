// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// scopedSubject is the informer of a scopedExecution.
type scopedSubject interface {
	Run(ctx context.Context) error
	HasSynced() bool
	Status() cache.Status
	ScopeStatus() []cache.ScopeStatus
	// version returns the version of the store.
	version() string
	objects() map[string]*corev1.ConfigMap
	indexKeys(env string) ([]string, error)
	add(handler func([]cache.Event[*corev1.ConfigMap])) error
}

// newSubject returns the informer of the program.
func (x *scopedExecution) newSubject() scopedSubject {
	if x.program.Wire != "" {
		x.network = newScopedNetwork(x.server, x.program.Wire)
	}
	if x.program.Adapter {
		return x.newAdapter()
	}
	if x.program.Partial {
		return newTypedScopes(x, &partialConfigMap{}, wholeConfigMap)
	}
	return newTypedScopes(x, &corev1.ConfigMap{}, func(obj *corev1.ConfigMap) *corev1.ConfigMap { return obj })
}

// typedScopes is an informer of package cache.
type typedScopes[T cache.Object] struct {
	*cache.SharedInformer[T]

	whole func(T) *corev1.ConfigMap
}

// partialConfigMap is a ConfigMap of some fields.
type partialConfigMap = cache.PartialObject[*corev1.ConfigMap, configMapFields]

type configMapFields struct {
	Data map[string]string `json:"data"`
}

// wholeConfigMap returns a ConfigMap with the fields that are kept; nil if there is none.
func wholeConfigMap(obj *partialConfigMap) *corev1.ConfigMap {
	if obj == nil {
		return nil
	}
	return &corev1.ConfigMap{ObjectMeta: obj.ObjectMeta, Data: obj.Fields.Data}
}

func newTypedScopes[T cache.Object](x *scopedExecution, example T, whole func(T) *corev1.ConfigMap) typedScopes[T] {
	options := cache.InformerOptions[T]{
		Scopes: x.scopes, Packed: x.program.Packed, ShareEqual: x.program.ShareEqual, OmitFields: omitted(x.program.Omit), Logger: logr.Discard(),
		WatchList: x.program.WatchList, PageSize: x.program.PageSize, Served: x.server.availability.option(),
		Indexers: cache.Indexers[T]{"env": cache.ByObject(func(obj T) ([]string, error) { return indexEnv(whole(obj)) })},
		Transform: func(obj T) (T, error) {
			changed, err := transformScoped(whole(obj))
			if err == nil {
				obj.SetAnnotations(changed.Annotations)
			}
			return obj, err
		},
	}
	if x.program.Filter {
		options.Filter = func(obj T) bool { return x.filter(whole(obj)) }
	}
	var source cache.ListerWatcher = x.server
	if x.network != nil {
		client := streamingClient(x.network.transport, x.network.format)
		source = cache.NewListWatchFromClient(client, "configmaps", metav1.NamespaceAll, nil)
	}
	return typedScopes[T]{cache.NewSharedInformer(source, example, options), whole}
}

func (i typedScopes[T]) version() string { return i.Store().Snapshot().ResourceVersion() }

func (i typedScopes[T]) objects() map[string]*corev1.ConfigMap {
	objects := make(map[string]*corev1.ConfigMap)
	for key, obj := range i.Store().All() {
		objects[key] = i.whole(obj)
	}
	return objects
}

func (i typedScopes[T]) indexKeys(env string) ([]string, error) {
	return i.Store().Snapshot().IndexKeys("env", env)
}

func (i typedScopes[T]) add(handler func([]cache.Event[*corev1.ConfigMap])) error {
	_, err := i.AddBatchHandler(func(events []cache.Event[T]) {
		var all []cache.Event[*corev1.ConfigMap]
		for _, e := range events {
			all = append(all, cache.Event[*corev1.ConfigMap]{
				Type: e.Type, Key: e.Key, Old: i.whole(e.Old), New: i.whole(e.New), Final: i.whole(e.Final), FinalStateUnknown: e.FinalStateUnknown,
				InInitialList: e.InInitialList, LeftScope: e.LeftScope, Coalesced: e.Coalesced,
			})
		}
		handler(all)
	}, cache.HandlerOptions{})
	return err
}

// adapterScopes is an informer of package clientgo.
type adapterScopes struct {
	*cache.Controller
	informer clientcache.SharedIndexInformer
}

func (x *scopedExecution) newAdapter() adapterScopes {
	options := clientgo.Options{
		Packed: x.program.Packed, ShareEqual: x.program.ShareEqual, OmitFields: omitted(x.program.Omit), Streaming: x.network != nil,
		Scopes: func(runtime.Object) *cache.Scopes { return x.scopes },
	}
	if x.program.Served {
		options.Served = func(schema.GroupVersionResource) *cache.Served { return x.server.availability.option() }
	}
	if x.program.Filter {
		options.Filter = func(obj any) bool { return x.filter(obj.(*corev1.ConfigMap)) }
	}
	var source clientcache.ListerWatcher = &clientcache.ListWatch{ListWithContextFunc: x.server.List, WatchFuncWithContext: x.server.Watch}
	if x.network != nil {
		client := streamingClient(x.network.transport, x.network.format)
		leaveSelectors := func(*metav1.ListOptions) {} // NewListWatchFromClient replaces those of the scopes
		source = clientcache.NewFilteredListWatchFromClient(client, "configmaps", metav1.NamespaceAll, leaveSelectors)
	}
	watchListClient.enabled.Store(x.program.WatchList)
	informer := options.NewInformer(source, &corev1.ConfigMap{}, 0, clientcache.Indexers{
		"env": func(obj any) ([]string, error) { return indexEnv(obj.(*corev1.ConfigMap)) },
	})
	_ = informer.SetTransform(func(obj any) (any, error) { return transformScoped(obj.(*corev1.ConfigMap)) })
	return adapterScopes{clientgo.ControllerOf(informer), informer}
}

func (a adapterScopes) HasSynced() bool { return a.HasDelivered() }

func (a adapterScopes) ScopeStatus() []cache.ScopeStatus { return a.Views()[0].ScopeStatus() }

func (a adapterScopes) version() string {
	return a.informer.GetIndexer().(interface{ LastStoreSyncResourceVersion() string }).LastStoreSyncResourceVersion()
}

func (a adapterScopes) objects() map[string]*corev1.ConfigMap {
	objects := make(map[string]*corev1.ConfigMap)
	for _, obj := range a.informer.GetIndexer().List() {
		objects[keyOf(obj.(*corev1.ConfigMap))] = obj.(*corev1.ConfigMap)
	}
	return objects
}

func (a adapterScopes) indexKeys(env string) ([]string, error) {
	return a.informer.GetIndexer().IndexKeys("env", env)
}

func (a adapterScopes) add(handler func([]cache.Event[*corev1.ConfigMap])) error {
	receive := func(e cache.Event[*corev1.ConfigMap]) {
		e.Key = keyOf(e.Object())
		handler([]cache.Event[*corev1.ConfigMap]{e})
	}
	_, err := a.informer.AddEventHandler(clientcache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			receive(cache.Event[*corev1.ConfigMap]{Type: cache.EventAdd, New: obj.(*corev1.ConfigMap), InInitialList: initial})
		},
		UpdateFunc: func(old, obj any) {
			receive(cache.Event[*corev1.ConfigMap]{Type: cache.EventUpdate, Old: old.(*corev1.ConfigMap), New: obj.(*corev1.ConfigMap)})
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			receive(cache.Event[*corev1.ConfigMap]{Type: cache.EventDelete, Final: obj.(*corev1.ConfigMap)})
		},
	})
	return err
}

func keyOf(obj *corev1.ConfigMap) string { return obj.Namespace + "/" + obj.Name }
