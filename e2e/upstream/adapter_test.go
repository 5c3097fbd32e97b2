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

// newSubject returns an informer of lw's objects with a delivery. Its handlers are behind the gate.
func newSubject[T cache.Object](lw cache.ListerWatcher, example T, how delivery, gate *gate) subject {
	if !how.adapter {
		return newBridge(lw, example, how, gate)
	}
	source := &clientcache.ListWatch{ListWithContextFunc: lw.List, WatchFuncWithContext: lw.Watch}
	options := clientgo.Options{Delivery: how.mode, Indexers: clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}}
	return &adapted{clientgo.NewSharedIndexInformerWithOptions(source, example, options), gate}
}

// adapted is an informer of package clientgo whose handlers are behind a gate.
type adapted struct {
	clientcache.SharedIndexInformer
	gate *gate
}

func (a *adapted) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	return a.SharedIndexInformer.AddEventHandler(&gatedHandler{handler, a.gate})
}

func (a *adapted) start(ctx context.Context, _ *testing.T) <-chan struct{} {
	return runAsync(func() { a.RunWithContext(ctx) })
}
