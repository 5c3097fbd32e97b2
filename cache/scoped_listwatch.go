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
	"github.com/kinformer/kinformer/internal/scope"
)

// ListWatchByNamespace returns a ListWatch of the objects of all namespaces, of which an informer
// with Scopes can also request one namespace alone:
//
//	lw := cache.ListWatchByNamespace(clientset.CoreV1().Pods)
//
// A scope with a Namespace is then requested by the path of the namespace, for which permissions in
// that namespace suffice. NewListWatchFromClient can do the same; any other ListerWatcher is asked for
// metadata.namespace=NAME as a field selector, for which the program needs the permission to list
// all namespaces.
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

// scopedListWatch returns a ListerWatcher that restricts its requests as their context says. The
// functions of this package do that by themselves.
func scopedListWatch(lw ListerWatcher) ListerWatcher {
	known, ok := lw.(*ListWatch)
	if codec.IsNil(lw) || ok && (known.selected.known || known.items != nil) {
		return lw
	}
	scoped := ListWatch{}
	if ok {
		scoped = *known
	}
	scoped.ListFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		scope.RequestOf(ctx).Apply(&options, true)
		return lw.List(ctx, options)
	}
	scoped.WatchFunc = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		scope.RequestOf(ctx).Apply(&options, true)
		return lw.Watch(ctx, options)
	}
	return &scoped
}
