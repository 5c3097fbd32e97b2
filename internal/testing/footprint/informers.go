// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// Config returns the configuration of a client without rate limit that prefers protobuf.
func Config(url, token string) *rest.Config {
	return &rest.Config{
		Host: url, BearerToken: token, QPS: -1, Timeout: time.Hour,
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	}
}

// Storage is how a SharedInformer stores objects.
type Storage struct {
	ShareEqual bool
	Packed     bool
	OmitFields []string
}

// Kinformer returns a SharedInformer of a resource that streams: of generated types if client-go
// has them, else of unstructured objects.
func Kinformer(config *rest.Config, resource schema.GroupVersionResource, kind string, storage Storage) (*Informer, error) {
	config = rest.CopyConfig(config)
	cache.EnableStreaming(config)
	gvk := resource.GroupVersion().WithKind(kind)
	if generated, ok := typedOf(gvk); ok {
		client, err := restClient(config, gvk.GroupVersion())
		if err != nil {
			return nil, err
		}
		return generated.new(cache.NewListWatchFromClient(client, resource.Resource, "", nil), storage)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(gvk)
	return FromListWatch(cache.ListWatchOf(client.Resource(resource)), example, storage)
}

// FromListWatch returns a SharedInformer. A packed one has a key handler, as event handlers would
// decode every object.
func FromListWatch[T cache.Object](lw cache.ListerWatcher, example T, storage Storage) (*Informer, error) {
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{
		Packed: storage.Packed, ShareEqual: storage.ShareEqual, OmitFields: storage.OmitFields,
		Indexers: cache.Indexers[T]{cache.NamespaceIndex: cache.ByMetadata[T](cache.MetaNamespaceIndexFunc)},
	})
	store := informer.Store()
	measured := &Informer{
		run:    informer.Run,
		synced: informer.HasSynced,
		failure: func() error {
			if status := informer.Status(); status.FailedAttempts >= maxAttempts {
				return status.Err
			}
			return nil
		},
		Keys: store.ListKeys,
		Get: func(key string) any {
			obj, _ := store.GetByKey(key)
			return obj
		},
	}
	if storage.Packed {
		_, err := informer.AddKeyHandler(func(cache.KeyEvent) { measured.added.Add(1) }, cache.HandlerOptions{})
		return measured, err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs[T]{AddFunc: func(T) { measured.added.Add(1) }}, cache.HandlerOptions{})
	return measured, err
}

// ClientGo returns client-go's SharedIndexInformer of a resource, of the same objects as
// Kinformer's.
func ClientGo(config *rest.Config, resource schema.GroupVersionResource, kind string) (*Informer, error) {
	if _, ok := typedOf(resource.GroupVersion().WithKind(kind)); !ok {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return FromClientGo(dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(resource).Informer())
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	generic, err := informers.NewSharedInformerFactory(clientset, 0).ForResource(resource)
	if err != nil {
		return nil, err
	}
	return FromClientGo(generic.Informer())
}

// FromClientGo returns an informer that a factory has made, which has an index by namespace.
func FromClientGo(informer clientcache.SharedIndexInformer) (*Informer, error) {
	indexer, failures := informer.GetIndexer(), new(failures)
	measured := &Informer{
		failure: failures.last,
		run: func(ctx context.Context) error {
			informer.RunWithContext(ctx)
			return nil
		},
		synced: informer.HasSynced,
		Keys:   indexer.ListKeys,
		Get: func(key string) any {
			obj, _, _ := indexer.GetByKey(key)
			return obj
		},
	}
	_, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { measured.added.Add(1) }})
	return measured, errors.Join(err, informer.SetWatchErrorHandlerWithContext(failures.add))
}

// failures are those of client-go's reflector.
type failures struct {
	mu    sync.Mutex // guards the fields below
	count int
	err   error
}

func (f *failures) add(_ context.Context, _ *clientcache.Reflector, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count, f.err = f.count+1, err
}

// last returns the last failure of several.
func (f *failures) last() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count < maxAttempts {
		return nil
	}
	return f.err
}
