// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// newShardInformer returns the informer of the first of several replicas. It does not run yet.
type newShardInformer func(config *rest.Config, replicas int, counts counts) (syncInformer, error)

func shardInformers() map[string]newShardInformer {
	return map[string]newShardInformer{
		Kinformer:                overSlots(options{}, withEventHandlers),
		Packed:                   overSlots(options{Packed: true}, withKeyHandlers),
		ClientGoFilteringStore:   filteringStore,
		ClientGoFilteringHandler: filteringHandler,
	}
}

// overSlots returns a SharedInformer whose scopes are the slots of a replica.
func overSlots(options options, newInformer func(options options) newSyncInformer) newShardInformer {
	return func(config *rest.Config, replicas int, counts counts) (syncInformer, error) {
		var scopes []cache.Scope
		for slot := uint64(0); slot < slots; slot += uint64(replicas) {
			first := slot * slotSize
			scopes = append(scopes, cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: first, Last: first + slotSize - 1}})
		}
		options.Scopes = cache.NewScopes(scopes...)
		return streaming(newInformer(options))(config, counts)
	}
}

// filteringStore returns client-go's Reflector with a store that keeps the replica's own Pods, as
// kube-state-metrics has it.
func filteringStore(config *rest.Config, replicas int, counts counts) (syncInformer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return syncInformer{}, err
	}
	lw := clientcache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", "", fields.Everything())
	store := &ownStore{Store: clientcache.NewStore(clientcache.MetaNamespaceKeyFunc), replicas: replicas, count: counts.handlers[0]}
	reflector := clientcache.NewReflector(lw, &corev1.Pod{}, store, 0)
	return stoppable(reflector.RunWithContext, store.replaced.Load, reflector.LastSyncResourceVersion), nil
}

// ownStore is a store of a Reflector that passes over the Pods of other replicas, and counts the
// replica's own.
type ownStore struct {
	clientcache.Store
	replicas int
	count    *handlerCount
	replaced atomic.Bool
}

func (s *ownStore) owns(obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && Owns(string(pod.UID), s.replicas)
}

// Update implements clientcache.Store. The other events do not occur.
func (s *ownStore) Update(obj any) error {
	if !s.owns(obj) {
		return nil
	}
	defer s.count.update()
	return s.Store.Update(obj)
}

// Replace implements clientcache.Store.
func (s *ownStore) Replace(list []any, resourceVersion string) error {
	var own []any
	for _, obj := range list {
		if s.owns(obj) {
			own = append(own, obj)
			s.count.add()
		}
	}
	defer s.replaced.Store(true)
	return s.Store.Replace(own, resourceVersion)
}

// filteringHandler returns a factory's informer of all Pods, whose handler passes over those of
// other replicas.
func filteringHandler(config *rest.Config, replicas int, counts counts) (syncInformer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return syncInformer{}, err
	}
	pods, count := informers.NewSharedInformerFactory(clientset, 0).Core().V1().Pods().Informer(), counts.handlers[0]
	_, err = pods.AddEventHandler(clientcache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			pod, ok := obj.(*corev1.Pod)
			return ok && Owns(string(pod.UID), replicas)
		},
		Handler: clientcache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { count.add() },
			UpdateFunc: func(_, _ any) { count.update() },
		},
	})
	return stoppable(pods.RunWithContext, pods.HasSynced, pods.LastSyncResourceVersion), err
}

// countReceived returns the configuration, and the number of bytes that its connections have
// received.
func countReceived(config *rest.Config) (*rest.Config, *atomic.Int64) {
	received, dialer := &atomic.Int64{}, &net.Dialer{Timeout: 30 * time.Second}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		return countingConn{conn, received}, err
	}
	return config, received
}

// countingConn counts the bytes that a connection has received.
type countingConn struct {
	net.Conn
	received *atomic.Int64
}

// Read implements net.Conn.
func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}
