// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// contextListerWatcher is a ListerWatcher of client-go whose methods take the request's context, and
// restrict the request to its scopes.
type contextListerWatcher struct{ clientcache.ListerWatcher }

var errNoLister = errors.New("the ListerWatcher is nil")

func (lw contextListerWatcher) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if lw.ListerWatcher == nil {
		return nil, errNoLister
	}
	scope.RequestOf(ctx).Apply(&options, true)
	feed.RestrictProbe(ctx, &options)
	return clientcache.ToListerWatcherWithContext(lw.ListerWatcher).ListWithContext(ctx, options)
}

func (lw contextListerWatcher) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if lw.ListerWatcher == nil {
		return nil, errNoLister
	}
	scope.RequestOf(ctx).Apply(&options, true)
	return clientcache.ToListerWatcherWithContext(lw.ListerWatcher).WatchWithContext(ctx, options)
}

// hasNoContext reports whether lw's functions take no context, as those of older generated code.
func hasNoContext(lw clientcache.ListerWatcher) bool {
	functions, ok := lw.(*clientcache.ListWatch)
	if v := reflect.Indirect(reflect.ValueOf(lw)); !ok && v.Kind() == reflect.Struct { // ToListWatcherWithWatchListSemantics embeds it
		if field, found := v.Type().FieldByName("ListWatch"); found && len(field.Index) == 1 {
			functions, _ = reflect.TypeAssert[*clientcache.ListWatch](v.FieldByIndex(field.Index))
		}
	}
	return functions != nil && functions.ListWithContextFunc == nil && functions.WatchFuncWithContext == nil
}

// mayWatchList reports whether to request the initial state as a WatchList. As in client-go, the
// feature gate must be on, and the ListerWatcher must not declare that it does not support it.
func mayWatchList(lw clientcache.ListerWatcher) bool {
	return features.FeatureGates().Enabled(features.WatchListClient) && !watchlist.DoesClientNotSupportWatchListSemantics(lw)
}
