// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// syncInformer is an informer of Pods that a SyncJob measures.
type syncInformer struct {
	run     func(context.Context) (stopped <-chan struct{})
	stop    func()
	synced  func() bool
	version func() string
}

// newSyncInformer returns an informer that does not run yet, with a handler for each of the counts.
type newSyncInformer func(config *rest.Config, counts counts) (syncInformer, error)

func syncInformers() map[string]newSyncInformer {
	return map[string]newSyncInformer{
		Kinformer:         streaming(withEventHandlers(options{})),
		WithoutStreaming:  withEventHandlers(options{}),
		Uncompressed:      uncompressed(streaming(withEventHandlers(options{}))),
		ShareEqual:        streaming(withEventHandlers(options{ShareEqual: true})),
		Packed:            streaming(withKeyHandlers(options{Packed: true})),
		ClientGo:          sharedIndexInformer(newFactory),
		ClientGoWatchList: sharedIndexInformer(newFactory), // RunSync sets the feature gate
		Adapter:           streaming(sharedIndexInformer(newAdapterFactory(clientgo.Options{}))),
		AdapterPacked:     streaming(sharedIndexInformer(newAdapterFactory(clientgo.Options{Packed: true}))),
		List:              streaming(withEventHandlers(options{})),
		WatchList:         streaming(withEventHandlers(options{WatchList: true})),

		PackedByNode: streaming(withKeyHandlers(options{Packed: true, Indexers: byNode()})),

		Partial:           streaming(eventHandlersOf(cache.InformerOptions[*partialPod]{})),
		PartialShareEqual: streaming(eventHandlersOf(cache.InformerOptions[*partialPod]{ShareEqual: true})),
		PartialPacked:     streaming(keyHandlersOf(cache.InformerOptions[*partialPod]{Packed: true})),
		ClientGoCleared:   sharedIndexInformer(newTransformingFactory(clearOtherFields)),

		PackedReconciler:   streaming(withReconciler(options{Packed: true})),
		ClientGoReconciler: clientGoReconciler,
	}
}

// handlerCount counts the events of a handler.
type handlerCount struct{ adds, updates atomic.Int64 }

func (c *handlerCount) add()    { c.adds.Add(1) }
func (c *handlerCount) update() { c.updates.Add(1) }

// counts are the events of all handlers.
type counts struct {
	pods     int // a key handler's first keys, one for each Pod, count as additions
	handlers []*handlerCount
}

func newCounts(pods, handlers int) counts {
	c := counts{pods: pods}
	for range handlers {
		c.handlers = append(c.handlers, &handlerCount{})
	}
	return c
}

// added returns how many additions every handler has received.
func (c counts) added() int { return c.min(func(h *handlerCount) int64 { return h.adds.Load() }) }

// updated returns how many updates every handler has received.
func (c counts) updated() int { return c.min(func(h *handlerCount) int64 { return h.updates.Load() }) }

func (c counts) min(count func(*handlerCount) int64) int {
	least := count(c.handlers[0])
	for _, handler := range c.handlers[1:] {
		least = min(least, count(handler))
	}
	return int(least)
}

type options = cache.InformerOptions[*corev1.Pod]

// streaming enables streaming in the informer's client configuration.
func streaming(newInformer newSyncInformer) newSyncInformer {
	return func(config *rest.Config, counts counts) (syncInformer, error) {
		cache.EnableStreaming(config)
		return newInformer(config, counts)
	}
}

// uncompressed asks the server not to compress its answers.
func uncompressed(newInformer newSyncInformer) newSyncInformer {
	return func(config *rest.Config, counts counts) (syncInformer, error) {
		config.DisableCompression = true
		return newInformer(config, counts)
	}
}

// withEventHandlers returns a SharedInformer with event handlers.
func withEventHandlers(options options) newSyncInformer { return eventHandlersOf(options) }

// eventHandlersOf is withEventHandlers for any type of Pods.
func eventHandlersOf[T any, P podOf[T]](options cache.InformerOptions[P]) newSyncInformer {
	return sharedInformer(options, func(pods *cache.SharedInformer[P], _ int, count *handlerCount) error {
		_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[P]{
			AddFunc:    func(P) { count.add() },
			UpdateFunc: func(_, _ P) { count.update() },
		}, cache.HandlerOptions{})
		return err
	})
}

// withKeyHandlers returns a SharedInformer with key handlers.
func withKeyHandlers(options options) newSyncInformer { return keyHandlersOf(options) }

// keyHandlersOf is withKeyHandlers for any type of Pods.
func keyHandlersOf[T any, P podOf[T]](options cache.InformerOptions[P]) newSyncInformer {
	return sharedInformer(options, func(pods *cache.SharedInformer[P], total int, count *handlerCount) error {
		_, err := pods.AddKeyHandler(func(cache.KeyEvent) {
			if int(count.adds.Load()) < total {
				count.add()
			} else {
				count.update()
			}
		}, cache.HandlerOptions{})
		return err
	})
}

// podOf is a pointer to a type of Pods: whole ones or PartialObjects.
type podOf[T any] interface {
	cache.Object
	*T
}

func sharedInformer[T any, P podOf[T]](options cache.InformerOptions[P], addHandler func(pods *cache.SharedInformer[P], total int, count *handlerCount) error) newSyncInformer {
	return func(config *rest.Config, counts counts) (syncInformer, error) {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return syncInformer{}, err
		}
		pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), P(new(T)), options)
		for _, count := range counts.handlers {
			err = errors.Join(err, addHandler(pods, counts.pods, count))
		}
		version := func() string { return pods.Status().Freshness.ResourceVersion }
		return stoppable(func(ctx context.Context) { _ = pods.Run(ctx) }, pods.HasSynced, version), err
	}
}

// factory returns client-go's informer factory or package clientgo's.
type factory func(kubernetes.Interface) informers.SharedInformerFactory

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(client, 0)
}

func newAdapterFactory(options clientgo.Options) factory {
	return func(client kubernetes.Interface) informers.SharedInformerFactory {
		return clientgo.With(options).NewSharedInformerFactory(client, 0)
	}
}

// sharedIndexInformer returns a factory's SharedIndexInformer with event handlers.
func sharedIndexInformer(factory factory) newSyncInformer {
	return func(config *rest.Config, counts counts) (syncInformer, error) {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return syncInformer{}, err
		}
		pods := factory(clientset).Core().V1().Pods().Informer()
		for _, count := range counts.handlers {
			_, failed := pods.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { count.add() },
				UpdateFunc: func(_, _ any) { count.update() },
			})
			err = errors.Join(err, failed)
		}
		return stoppable(pods.RunWithContext, pods.HasSynced, pods.LastSyncResourceVersion), err
	}
}

// stoppable returns an informer with a stop function for a run function that ends with its context.
func stoppable(run func(context.Context), synced func() bool, version func() string) syncInformer {
	var cancel context.CancelFunc // set by run, which is called first
	return syncInformer{
		run: func(ctx context.Context) <-chan struct{} {
			ctx, cancel = context.WithCancel(ctx)
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				run(ctx)
			}()
			return stopped
		},
		stop:    func() { cancel() },
		synced:  synced,
		version: version,
	}
}
