// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/follow"
)

// Object is an object of a watched kind.
type Object = *unstructured.Unstructured

// Watches shares one informer of each kind among its users. An informer without users stops.
type Watches struct {
	client   dynamic.Interface
	follower *follow.Follower
	factory  *cache.Factory
}

// NewWatches returns Watches that do not run.
func NewWatches(client dynamic.Interface, follower *follow.Follower) *Watches {
	return &Watches{client, follower, cache.NewFactory(cache.FactoryOptions{IdleTimeout: -1})}
}

// Run runs the informers until ctx ends. The follower runs beside it.
func (w *Watches) Run(ctx context.Context) error { return w.factory.Run(ctx) }

// Watch is one user's watch of a kind.
type Watch struct {
	ref          *cache.InformerRef[Object]
	registration *cache.Registration
}

// Add calls handler with the events of a kind: the objects that are there first, and deletions once
// the server no longer serves the kind. The resource is guessed from the kind, as gatekeeper's
// Config does not name it, and no server knows a kind that is not installed.
func (w *Watches) Add(kind schema.GroupVersionKind, handler func(cache.Event[Object])) (*Watch, error) {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(kind)
	ref, err := cache.InformerFor(w.factory, cache.ListWatchOf(w.client.Resource(resource)).InNamespace(""), example,
		cache.InformerOptions[Object]{Name: kind.Kind, Packed: true, Served: w.follower.Resource(resource)})
	if err != nil {
		return nil, err
	}
	registration, err := ref.Informer().AddEventHandler(cache.EventHandlerFunc[Object](handler), cache.HandlerOptions{Name: kind.Kind})
	if err != nil {
		ref.Release()
		return nil, err
	}
	return &Watch{ref, registration}, nil
}

// Status returns the condition of the informer.
func (w *Watch) Status() cache.Status { return w.ref.Informer().Status() }

// Stop ends the watch. The handler is not called again.
func (w *Watch) Stop() {
	w.registration.Cancel()
	<-w.registration.Done()
	w.ref.Release()
}
