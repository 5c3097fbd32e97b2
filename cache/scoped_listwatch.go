// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// ListWatchByNamespace returns a ListWatch of the objects of all namespaces, for an informer with
// Scopes. client is the method of a clientset that returns the client of a namespace:
//
//	lw := cache.ListWatchByNamespace(clientset.CoreV1().Pods)
//
// A scope with a Namespace is requested by the path of the namespace, for which permissions in that
// namespace suffice. NewListWatchFromClient for all namespaces does the same. Any other
// ListerWatcher receives the field selector metadata.namespace=NAME, for which the program needs
// the permission to list all namespaces.
func ListWatchByNamespace[L runtime.Object, C interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}](client func(namespace string) C, modify ...ListOptionsFunc) *ListWatch {
	if client == nil || codec.IsNil(client(metav1.NamespaceAll)) {
		return &ListWatch{}
	}
	known := selected{known: true, modify: slices.Clone(modify), byNamespace: true}
	return &ListWatch{
		Streaming: true,
		selected:  known,
		items:     codec.ItemType(reflect.TypeFor[L]()),
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			known.apply(ctx, &options)
			list, err := client(scope.RequestOf(ctx).Namespace).List(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			known.apply(ctx, &options)
			return client(scope.RequestOf(ctx).Namespace).Watch(ctx, options)
		},
	}
}

// scopedListWatch returns a ListerWatcher that restricts each request to scope.RequestOf of its
// context. A ListWatch of this package's functions does that itself, and is returned as it is.
func scopedListWatch(lw ListerWatcher) ListerWatcher {
	known, ok := lw.(*ListWatch)
	if codec.IsNil(lw) || ok && (known.selected.known || known.items != nil) {
		return lw
	}
	scoped := ListWatch{isMostRecent: isMostRecent(lw)}
	if ok {
		scoped = *known
	}
	scoped.ListFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		scope.RequestOf(ctx).Apply(&options, true)
		feed.RestrictProbe(ctx, &options)
		return lw.List(ctx, options)
	}
	scoped.WatchFunc = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		scope.RequestOf(ctx).Apply(&options, true)
		return lw.Watch(ctx, options)
	}
	return &scoped
}
