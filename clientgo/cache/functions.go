// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// DefaultWatchErrorHandler calls client-go's function.
func DefaultWatchErrorHandler(ctx context.Context, r *clientcache.Reflector, err error) {
	clientcache.DefaultWatchErrorHandler(ctx, r, err)
}

// DeletionHandlingMetaNamespaceKeyFunc calls client-go's function.
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	return clientcache.DeletionHandlingMetaNamespaceKeyFunc(obj)
}

// DeletionHandlingObjectToName calls client-go's function.
func DeletionHandlingObjectToName(obj any) (clientcache.ObjectName, error) {
	return clientcache.DeletionHandlingObjectToName(obj)
}

// IndexFuncToKeyFuncAdapter calls client-go's function.
func IndexFuncToKeyFuncAdapter(indexFunc clientcache.IndexFunc) clientcache.KeyFunc {
	return clientcache.IndexFuncToKeyFuncAdapter(indexFunc)
}

// IsDone calls client-go's function.
func IsDone(checker clientcache.DoneChecker) bool { return clientcache.IsDone(checker) }

// ListAll calls client-go's function.
func ListAll(store clientcache.Store, selector labels.Selector, appendFn clientcache.AppendFunc) error {
	return clientcache.ListAll(store, selector, appendFn)
}

// ListAllByNamespace calls client-go's function.
func ListAllByNamespace(indexer clientcache.Indexer, namespace string, selector labels.Selector, appendFn clientcache.AppendFunc) error {
	return clientcache.ListAllByNamespace(indexer, namespace, selector, appendFn)
}

// MetaNamespaceIndexFunc calls client-go's function.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	return clientcache.MetaNamespaceIndexFunc(obj)
}

// MetaNamespaceKeyFunc calls client-go's function.
func MetaNamespaceKeyFunc(obj any) (string, error) { return clientcache.MetaNamespaceKeyFunc(obj) }

// MetaObjectToName calls client-go's function.
func MetaObjectToName(obj metav1.Object) clientcache.ObjectName {
	return clientcache.MetaObjectToName(obj)
}

// NamespacedNameAsObjectName calls client-go's function.
func NamespacedNameAsObjectName(nn types.NamespacedName) clientcache.ObjectName {
	return clientcache.NamespacedNameAsObjectName(nn)
}

// New calls client-go's function.
func New(c *clientcache.Config) clientcache.Controller { return clientcache.New(c) }

// NewCacheMutationDetector calls client-go's function.
func NewCacheMutationDetector(name string) clientcache.MutationDetector {
	return clientcache.NewCacheMutationDetector(name)
}

// NewDeltaFIFO calls client-go's function.
//
// Deprecated: use NewDeltaFIFOWithOptions.
func NewDeltaFIFO(keyFunc clientcache.KeyFunc, knownObjects clientcache.KeyListerGetter) *clientcache.DeltaFIFO {
	return clientcache.NewDeltaFIFO(keyFunc, knownObjects)
}

// NewDeltaFIFOWithOptions calls client-go's function.
func NewDeltaFIFOWithOptions(opts clientcache.DeltaFIFOOptions) *clientcache.DeltaFIFO {
	return clientcache.NewDeltaFIFOWithOptions(opts)
}

// NewExpirationStore calls client-go's function.
func NewExpirationStore(keyFunc clientcache.KeyFunc, expirationPolicy clientcache.ExpirationPolicy) clientcache.Store {
	return clientcache.NewExpirationStore(keyFunc, expirationPolicy)
}

// NewFIFO calls client-go's function.
func NewFIFO(keyFunc clientcache.KeyFunc) *clientcache.FIFO { return clientcache.NewFIFO(keyFunc) }

// NewFakeExpirationStore calls client-go's function.
func NewFakeExpirationStore(keyFunc clientcache.KeyFunc, deletedKeys chan<- string, expirationPolicy clientcache.ExpirationPolicy, cacheClock clock.Clock) clientcache.Store {
	return clientcache.NewFakeExpirationStore(keyFunc, deletedKeys, expirationPolicy, cacheClock)
}

// NewFilteredListWatchFromClient calls client-go's function.
func NewFilteredListWatchFromClient(c clientcache.Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *clientcache.ListWatch {
	return clientcache.NewFilteredListWatchFromClient(c, resource, namespace, optionsModifier)
}

// NewGenericLister calls client-go's function.
func NewGenericLister(indexer clientcache.Indexer, resource schema.GroupResource) clientcache.GenericLister {
	return clientcache.NewGenericLister(indexer, resource)
}

// NewHeap calls client-go's function.
func NewHeap(keyFn clientcache.KeyFunc, lessFn clientcache.LessFunc) *clientcache.Heap {
	return clientcache.NewHeap(keyFn, lessFn)
}

// NewInformerName calls client-go's function.
func NewInformerName(name string) (*clientcache.InformerName, error) {
	return clientcache.NewInformerName(name)
}

// NewIntegerResourceVersionMutationCache calls client-go's function.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache clientcache.Store, indexer clientcache.Indexer, ttl time.Duration, includeAdds bool) clientcache.MutationCache {
	return clientcache.NewIntegerResourceVersionMutationCache(logger, backingCache, indexer, ttl, includeAdds)
}

// NewListWatchFromClient calls client-go's function.
func NewListWatchFromClient(c clientcache.Getter, resource string, namespace string, fieldSelector fields.Selector) *clientcache.ListWatch {
	return clientcache.NewListWatchFromClient(c, resource, namespace, fieldSelector)
}

// NewObjectName calls client-go's function.
func NewObjectName(namespace string, name string) clientcache.ObjectName {
	return clientcache.NewObjectName(namespace, name)
}

// NewRealFIFO calls client-go's function.
//
// Deprecated: use NewRealFIFOWithOptions.
func NewRealFIFO(keyFunc clientcache.KeyFunc, knownObjects clientcache.KeyListerGetter, transformer clientcache.TransformFunc) *clientcache.RealFIFO {
	return clientcache.NewRealFIFO(keyFunc, knownObjects, transformer)
}

// NewRealFIFOWithOptions calls client-go's function.
func NewRealFIFOWithOptions(opts clientcache.RealFIFOOptions) *clientcache.RealFIFO {
	return clientcache.NewRealFIFOWithOptions(opts)
}

// NewRetryWithDeadline calls client-go's function.
func NewRetryWithDeadline(maxRetryDuration time.Duration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) clientcache.RetryWithDeadline {
	return clientcache.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}

// NewTTLStore calls client-go's function.
func NewTTLStore(keyFunc clientcache.KeyFunc, ttl time.Duration) clientcache.Store {
	return clientcache.NewTTLStore(keyFunc, ttl)
}

// NewThreadSafeStore calls client-go's function.
func NewThreadSafeStore(indexers clientcache.Indexers, indices clientcache.Indices, opts ...clientcache.ThreadSafeStoreOption) clientcache.ThreadSafeStore {
	return clientcache.NewThreadSafeStore(indexers, indices, opts...)
}

// NewUndeltaStore calls client-go's function.
func NewUndeltaStore(pushFunc func([]any), keyFunc clientcache.KeyFunc) *clientcache.UndeltaStore {
	return clientcache.NewUndeltaStore(pushFunc, keyFunc)
}

// ObjectToName calls client-go's function.
func ObjectToName(obj any) (clientcache.ObjectName, error) { return clientcache.ObjectToName(obj) }

// ParseObjectName calls client-go's function.
func ParseObjectName(str string) (clientcache.ObjectName, error) {
	return clientcache.ParseObjectName(str)
}

// ResetInformerNamesForTesting calls client-go's function.
func ResetInformerNamesForTesting() { clientcache.ResetInformerNamesForTesting() }

// SetInformerMetricsProvider calls client-go's function.
func SetInformerMetricsProvider(metricsProvider clientcache.InformerMetricsProvider) {
	clientcache.SetInformerMetricsProvider(metricsProvider)
}

// SetReflectorMetricsProvider calls client-go's function.
func SetReflectorMetricsProvider(metricsProvider clientcache.MetricsProvider) {
	clientcache.SetReflectorMetricsProvider(metricsProvider)
}

// SplitMetaNamespaceKey calls client-go's function.
func SplitMetaNamespaceKey(key string) (namespace string, name string, err error) {
	return clientcache.SplitMetaNamespaceKey(key)
}

// ToListWatcherWithWatchListSemantics calls client-go's function.
func ToListWatcherWithWatchListSemantics(lw *clientcache.ListWatch, client any) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(lw, client)
}

// ToListerWatcherWithContext calls client-go's function.
func ToListerWatcherWithContext(lw clientcache.ListerWatcher) clientcache.ListerWatcherWithContext {
	return clientcache.ToListerWatcherWithContext(lw)
}

// ToListerWithContext calls client-go's function.
func ToListerWithContext(l clientcache.Lister) clientcache.ListerWithContext {
	return clientcache.ToListerWithContext(l)
}

// ToWatcherWithContext calls client-go's function.
func ToWatcherWithContext(w clientcache.Watcher) clientcache.WatcherWithContext {
	return clientcache.ToWatcherWithContext(w)
}

// WaitFor calls client-go's function.
func WaitFor(ctx context.Context, what string, checkers ...clientcache.DoneChecker) bool {
	return clientcache.WaitFor(ctx, what, checkers...)
}

// WaitForCacheSync calls client-go's function.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...clientcache.InformerSynced) bool {
	return clientcache.WaitForCacheSync(stopCh, cacheSyncs...)
}

// WaitForNamedCacheSync calls client-go's function.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...clientcache.InformerSynced) bool {
	return clientcache.WaitForNamedCacheSync(controllerName, stopCh, cacheSyncs...)
}

// WaitForNamedCacheSyncWithContext calls client-go's function.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...clientcache.InformerSynced) bool {
	return clientcache.WaitForNamedCacheSyncWithContext(ctx, cacheSyncs...)
}

// WithStoreMetrics calls client-go's function.
func WithStoreMetrics(identifier clientcache.InformerNameAndResource, metrics clientcache.InformerMetricsProvider) clientcache.StoreOption {
	return clientcache.WithStoreMetrics(identifier, metrics)
}

// WithThreadSafeStoreMetrics calls client-go's function.
func WithThreadSafeStoreMetrics(identifier clientcache.InformerNameAndResource, metricsProvider clientcache.InformerMetricsProvider) clientcache.ThreadSafeStoreOption {
	return clientcache.WithThreadSafeStoreMetrics(identifier, metricsProvider)
}

// WithTransformer calls client-go's function.
func WithTransformer(transformer clientcache.TransformFunc) clientcache.StoreOption {
	return clientcache.WithTransformer(transformer)
}

// ShutDownEventHandler removes a handler, and waits for a call in progress to return. The handler
// must not call it. client-go has this function since v0.37.
func ShutDownEventHandler(informer clientcache.SharedInformer, handle clientcache.ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	registration, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return fmt.Errorf("the handler's registration %T has no ShutdownChan", handle)
	}
	<-registration.ShutdownChan()
	return nil
}
