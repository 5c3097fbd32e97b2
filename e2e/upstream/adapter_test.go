// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"testing"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// subject is an informer that is passed to a controller.
type subject interface {
	clientcache.SharedIndexInformer
	// start runs the informer until ctx ends. The channel is closed when it has stopped.
	start(ctx context.Context, t *testing.T) (stopped <-chan struct{})
}

// newSubject returns an informer of lw's objects with a delivery, and its handlers behind a gate.
func newSubject[T cache.Object](lw cache.ListerWatcher, example T, d delivery, gate *gate) subject {
	if !d.adapter {
		return newBridge(lw, example, d, gate)
	}
	source := &clientcache.ListWatch{ListWithContextFunc: lw.List, WatchFuncWithContext: lw.Watch}
	indexers := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	return &adapterInformer{clientgo.With(clientgo.Options{CoalesceWhenBehind: !d.every}).NewSharedIndexInformer(source, example, 0, indexers), gate}
}

// adapterInformer is an informer of package clientgo whose handlers are behind a gate.
type adapterInformer struct {
	clientcache.SharedIndexInformer
	gate *gate
}

func (a *adapterInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	return a.SharedIndexInformer.AddEventHandler(&gatedHandler{handler, a.gate})
}

func (a *adapterInformer) start(ctx context.Context, _ *testing.T) <-chan struct{} {
	return runAsync(func() { a.RunWithContext(ctx) })
}
