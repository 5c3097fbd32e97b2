// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// listWatch returns the same list for every request, and one watch. The informers of all sides read
// from it.
type listWatch struct {
	list    *corev1.PodList
	watcher watch.Interface
}

func newListWatch(pods []corev1.Pod, watcher watch.Interface) listWatch {
	return listWatch{&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(firstVersion)}, Items: pods}, watcher}
}

// List returns the list.
func (lw listWatch) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return lw.list, nil
}

// Watch returns the watch.
func (lw listWatch) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return lw.watcher, nil
}

// clientGoListWatch is a listWatch for client-go, which must not use WatchList.
type clientGoListWatch struct{ *clientcache.ListWatch }

func (clientGoListWatch) IsWatchListSemanticsUnSupported() bool { return true }

func (lw listWatch) clientGo() clientGoListWatch {
	return clientGoListWatch{&clientcache.ListWatch{ListWithContextFunc: lw.List, WatchFuncWithContext: lw.Watch}}
}

// runningInformer is an informer that has synced.
type runningInformer struct {
	list func() int // reads all Pods and returns their number
	stop func() error
}

// startFunc starts an informer with a handler for each function, which the handler calls on every
// update.
type startFunc func(lw listWatch, onUpdate ...func()) (runningInformer, error)

// syncTimeout is far more than any informer here needs.
const syncTimeout = time.Minute

// startClientGo starts client-go's SharedIndexInformer. It is read like a namespace lister if
// byNamespace is true, otherwise with List.
func startClientGo(byNamespace bool) startFunc {
	return startSharedIndexInformer(newClientGoInformer, byNamespace)
}

func startSharedIndexInformer(newInformer func(listWatch) clientcache.SharedIndexInformer, byNamespace bool) startFunc {
	return func(lw listWatch, onUpdate ...func()) (runningInformer, error) {
		shared := newInformer(lw)
		synced := []clientcache.InformerSynced{shared.HasSynced}
		for _, call := range onUpdate {
			registration, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { call() }})
			if err != nil {
				return runningInformer{}, err
			}
			synced = append(synced, registration.HasSynced)
		}
		list := func() int { return len(shared.GetIndexer().List()) }
		if byNamespace {
			list = func() (n int) {
				_ = clientcache.ListAllByNamespace(shared.GetIndexer(), namespaceOf(0), labels.Everything(), func(any) { n++ })
				return n
			}
		}
		return runSharedIndexInformer(shared, list, synced)
	}
}

// newClientGoInformer returns client-go's SharedIndexInformer with an index by namespace.
func newClientGoInformer(lw listWatch) clientcache.SharedIndexInformer {
	return clientcache.NewSharedIndexInformerWithOptions(lw.clientGo(), &corev1.Pod{}, clientcache.SharedIndexInformerOptions{
		Indexers: clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc},
	})
}

// newAdapterInformer returns package clientgo's SharedIndexInformer with an index by namespace.
func newAdapterInformer(lw listWatch) clientcache.SharedIndexInformer {
	indexers := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	return clientgo.With(clientgo.Options{}).NewSharedIndexInformer(lw.clientGo(), &corev1.Pod{}, 0, indexers)
}

func runSharedIndexInformer(shared clientcache.SharedIndexInformer, list func() int, synced []clientcache.InformerSynced) (runningInformer, error) {
	return runUntilSynced(list,
		func(ctx context.Context) error { shared.RunWithContext(ctx); return nil },
		func(ctx context.Context) error {
			if !clientcache.WaitForCacheSync(ctx.Done(), synced...) {
				return errors.New("not synced")
			}
			return nil
		})
}

// startSharedInformer starts a SharedInformer whose handlers receive every event, as client-go's
// do. byNamespace is as for startClientGo.
func startSharedInformer(byNamespace bool) startFunc {
	return func(lw listWatch, onUpdate ...func()) (runningInformer, error) {
		shared := newSharedInformer(lw, cache.InformerOptions[*corev1.Pod]{})
		registrations, err := addHandlers(shared, onUpdate)
		if err != nil {
			return runningInformer{}, err
		}
		list := func() int { return len(shared.Store().List()) }
		if byNamespace {
			lister := cache.NewLister(shared.Store(), corev1.Resource("pods")).Namespace(namespaceOf(0))
			list = func() int { return len(lister.List(nil)) }
		}
		return runSharedInformer(shared, list, registrations)
	}
}

func addHandlers(shared *cache.SharedInformer[*corev1.Pod], onUpdate []func()) (registrations []*cache.Registration, err error) {
	for _, call := range onUpdate {
		handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { call() }}
		registration, err := shared.AddEventHandler(handler, cache.HandlerOptions{EveryEvent: true})
		if err != nil {
			return nil, err
		}
		registrations = append(registrations, registration)
	}
	return registrations, nil
}

// newSharedInformer returns a SharedInformer with an index by namespace.
func newSharedInformer(lw listWatch, options cache.InformerOptions[*corev1.Pod]) *cache.SharedInformer[*corev1.Pod] {
	options.Indexers = cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)}
	return cache.NewSharedInformer(&cache.ListWatch{ListFunc: lw.List, WatchFunc: lw.Watch}, &corev1.Pod{}, options)
}

func runSharedInformer(shared *cache.SharedInformer[*corev1.Pod], list func() int, registrations []*cache.Registration) (runningInformer, error) {
	return runUntilSynced(list, shared.Run, func(ctx context.Context) error {
		for _, registration := range registrations {
			if err := waitForHandler(ctx, registration); err != nil {
				return err
			}
		}
		return shared.WaitForSync(ctx)
	})
}

func waitForHandler(ctx context.Context, registration *cache.Registration) error {
	select {
	case <-registration.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("handler %s: %w", registration.Status().Name, ctx.Err())
	}
}

// startNoCache starts a goroutine that passes the watch's events to the handlers and stores
// nothing. It lists the initial Pods.
func startNoCache(lw listWatch, onUpdate ...func()) (runningInformer, error) {
	received := make(chan runtime.Object, inFlight)
	run := func(ctx context.Context) error {
		handled := make(chan struct{})
		go func() {
			defer close(handled)
			for range received {
				for _, call := range onUpdate {
					call()
				}
			}
		}()
		defer func() {
			close(received)
			<-handled
		}()
		for {
			select {
			case <-ctx.Done():
				return nil
			case event := <-lw.watcher.ResultChan():
				received <- event.Object
			}
		}
	}
	list := func() int {
		pods := make([]*corev1.Pod, 0, len(lw.list.Items))
		for i := range lw.list.Items {
			pods = append(pods, &lw.list.Items[i])
		}
		return len(pods)
	}
	return runUntilSynced(list, run, func(context.Context) error { return nil })
}

// runUntilSynced starts an informer and waits until it has synced.
func runUntilSynced(list func() int, run, waitForSync func(context.Context) error) (runningInformer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx) }()
	stop := func() error {
		cancel()
		return <-stopped
	}
	syncing, done := context.WithTimeout(ctx, syncTimeout)
	defer done()
	if err := waitForSync(syncing); err != nil {
		return runningInformer{}, errors.Join(fmt.Errorf("wait for sync: %w", err), stop())
	}
	return runningInformer{list: list, stop: stop}, nil
}
