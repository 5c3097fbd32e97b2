// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/tap"
)

// followed finds out whether the resource of an informer is served. If the resource is not known, it is
// that of the first request, once that has passed through the client's transport.
type followed struct {
	source.ListerWatcher

	served func(schema.GroupVersionResource) *cache.Served
	mu     sync.Mutex // guards found
	found  *served.Resource
}

// follow returns lw, and a function that returns what is known of its resource, if that is followed.
func (s settings) follow(lw source.ListerWatcher) (source.ListerWatcher, func() *served.Resource) {
	switch {
	case s.Served == nil:
		return lw, nil
	case !s.resource.Empty():
		resource := served.ResourceOf(s.Served(s.resource))
		return lw, func() *served.Resource { return resource }
	}
	f := &followed{ListerWatcher: lw, served: s.Served}
	return f, f.resource
}

func (f *followed) resource() *served.Resource {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}

func (f *followed) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return f.ListerWatcher.List(f.withPath(ctx), options)
}

func (f *followed) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f.ListerWatcher.Watch(f.withPath(ctx), options)
}

// withPath returns a context whose request tells its resource, unless that is known.
func (f *followed) withPath(ctx context.Context) context.Context {
	if f.resource() != nil {
		return ctx
	}
	return tap.WithPath(ctx, func(path string) {
		if resource, ok := resourceOf(path); ok {
			found := served.ResourceOf(f.served(resource))
			f.mu.Lock()
			defer f.mu.Unlock()
			f.found = found
		}
	})
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
