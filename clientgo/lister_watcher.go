// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/tap"
)

// listerWatcher makes requests by a ListerWatcher of client-go. It passes on the context of a
// request, and restricts the request to the scopes in it. If served is set, the resource to follow
// is not known: it is taken from the path of the first request for a collection that passes through
// the client's transport.
type listerWatcher struct {
	clientcache.ListerWatcher

	served func(schema.GroupVersionResource) *cache.Served // nil if the resource is known, or not followed
	found  atomic.Pointer[served.Resource]                 // that is followed
}

var errNoLister = errors.New("the ListerWatcher is nil")

func (lw *listerWatcher) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if lw.ListerWatcher == nil {
		return nil, errNoLister
	}
	scope.RequestOf(ctx).Apply(&options, true)
	feed.RestrictProbe(ctx, &options)
	return clientcache.ToListerWatcherWithContext(lw.ListerWatcher).ListWithContext(lw.withPath(ctx), options)
}

func (lw *listerWatcher) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if lw.ListerWatcher == nil {
		return nil, errNoLister
	}
	scope.RequestOf(ctx).Apply(&options, true)
	return clientcache.ToListerWatcherWithContext(lw.ListerWatcher).WatchWithContext(lw.withPath(ctx), options)
}

// withPath returns a context whose request tells its resource, if that is to be found out.
func (lw *listerWatcher) withPath(ctx context.Context) context.Context {
	if lw.served == nil || lw.found.Load() != nil {
		return ctx
	}
	return tap.WithPath(ctx, func(path string) {
		if resource, ok := resourceOf(path); ok {
			lw.found.Store(served.ResourceOf(lw.served(resource)))
		}
	})
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

// resourceOf returns the resource of a request for a collection: /api/v1/pods,
// /apis/group/version/namespaces/name/resource, perhaps after the path of a proxy.
func resourceOf(path string) (resource schema.GroupVersionResource, ok bool) {
	_, rest, found := strings.Cut(path, "/apis/")
	if !found {
		if _, rest, found = strings.Cut(path, "/api/"); !found {
			return resource, false
		}
		rest = "/" + rest
	}
	parts := strings.Split(rest, "/")
	if len(parts) == 5 && parts[2] == "namespaces" {
		parts = append(parts[:2], parts[4])
	}
	if len(parts) != 3 || parts[2] == "" {
		return resource, false
	}
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, true
}
