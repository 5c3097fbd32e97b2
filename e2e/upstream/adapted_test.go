package upstream

import (
	"context"
	"testing"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// subject is the informer that a controller is given.
type subject interface {
	clientcache.SharedIndexInformer
	// start runs it until ctx ends. It returns what ends when the informer has.
	start(ctx context.Context, t *testing.T) (ended <-chan struct{})
}

// newSubject returns an informer of lw's objects whose handlers pass the gate and are told as the delivery says.
func newSubject[T cache.Object](lw cache.ListerWatcher, example T, how delivery, stuck *gate) subject {
	if !how.adapter {
		return newBridge(lw, example, how, stuck)
	}
	source := &clientcache.ListWatch{ListWithContextFunc: lw.List, WatchFuncWithContext: lw.Watch}
	options := clientgo.Options{Delivery: how.as, Indexers: clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}}
	return &adapted{clientgo.NewSharedIndexInformerWithOptions(source, example, options), stuck}
}

// adapted is an informer by the adapter, as every program has it, but for the gate before its handlers.
type adapted struct {
	clientcache.SharedIndexInformer
	stuck *gate
}

func (a *adapted) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	return a.SharedIndexInformer.AddEventHandler(&gated{handler, a.stuck})
}

func (a *adapted) start(ctx context.Context, _ *testing.T) <-chan struct{} {
	return running(func() { a.RunWithContext(ctx) })
}
