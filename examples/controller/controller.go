// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
)

// configMapName is the name of the ConfigMap that the controller writes in each Namespace.
const configMapName = "pod-count"

const (
	syncTimeout  = 2 * time.Minute  // of the informers' first lists
	writeTimeout = 30 * time.Second // until the informer has seen a write
)

// controller keeps a ConfigMap with the number of Pods in each Namespace.
type controller struct {
	client     kubernetes.Interface
	pods       *cache.SharedInformer[*corev1.Pod]
	configMaps *cache.SharedInformer[*corev1.ConfigMap]
	informers  cache.Group                                  // both
	queue      workqueue.TypedRateLimitingInterface[string] // names of Namespaces
}

// newController returns a controller that is not running. It makes no request.
func newController(client kubernetes.Interface) (*controller, error) {
	c := &controller{
		client: client,
		// The controller reads keys only. Packed Pods take a twentieth of the memory.
		pods: cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			Packed:   true,
			Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)},
		}),
		configMaps: cache.NewSharedInformer(
			cache.ListWatchOf(client.CoreV1().ConfigMaps(""), cache.WithFieldSelector(fields.OneTermEqualSelector("metadata.name", configMapName))),
			&corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	c.informers.Add(c.pods, c.configMaps)
	enqueue := func(event cache.KeyEvent) {
		namespace, _, _ := strings.Cut(event.Key, "/")
		c.queue.Add(namespace)
	}
	if _, err := c.pods.AddKeyHandler(enqueue, cache.HandlerOptions{Name: "count Pods"}); err != nil {
		return nil, err
	}
	if _, err := c.configMaps.AddKeyHandler(enqueue, cache.HandlerOptions{Name: "restore ConfigMaps"}); err != nil {
		return nil, err
	}
	return c, nil
}

// Run keeps the ConfigMaps up to date until ctx ends, and returns nil then. If an informer fails,
// or has not synced in time, it returns the cause.
func (c *controller) Run(ctx context.Context) error {
	return cache.RunAll(ctx, c.informers.Run, c.work)
}

// work processes the queue with two workers until ctx ends.
func (c *controller) work(ctx context.Context) error {
	context.AfterFunc(ctx, c.queue.ShutDown)
	if err := c.waitForSync(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for c.processNext(ctx) {
			}
		})
	}
	workers.Wait()
	return nil
}

// waitForSync waits until both informers have synced. They retry failed lists until their context
// ends, so that a wait without a timeout would never return the cause, such as a missing
// permission.
func (c *controller) waitForSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	return c.informers.WaitForSync(ctx)
}

// processNext processes one Namespace. It returns false once the queue is shut down.
func (c *controller) processNext(ctx context.Context) bool {
	namespace, shutDown := c.queue.Get()
	if shutDown {
		return false
	}
	defer c.queue.Done(namespace)
	if err := c.reconcile(ctx, namespace); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Could not count the Pods of a Namespace, trying again", "namespace", namespace)
		c.queue.AddRateLimited(namespace)
		return true
	}
	c.queue.Forget(namespace)
	return true
}

// reconcile writes the number of a Namespace's Pods into its ConfigMap.
func (c *controller) reconcile(ctx context.Context, namespace string) error {
	pods, err := c.pods.Store().IndexKeys(cache.NamespaceIndex, namespace)
	if err != nil {
		return err
	}
	count := strconv.Itoa(len(pods))
	current, exists := c.configMaps.Store().GetByKey(namespace + "/" + configMapName)
	if exists && current.Data["pods"] == count {
		return nil
	}
	written, err := c.write(ctx, namespace, current, count)
	switch {
	case apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // the Namespace is being deleted
	case err != nil:
		return fmt.Errorf("write ConfigMap: %w", err)
	}
	klog.FromContext(ctx).Info("Counted Pods", "namespace", namespace, "pods", count)
	return c.waitForWrite(ctx, written)
}

// waitForWrite waits until the informer has seen a write. Without a timeout, a write that a restore
// of etcd has undone would block a worker until the server reaches the write's version again.
func (c *controller) waitForWrite(ctx context.Context, written *corev1.ConfigMap) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.configMaps.WaitForObject(ctx, written)
}

// write creates the ConfigMap, or updates a copy of current.
func (c *controller) write(ctx context.Context, namespace string, current *corev1.ConfigMap, count string) (*corev1.ConfigMap, error) {
	client := c.client.CoreV1().ConfigMaps(namespace)
	if current == nil {
		return client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: configMapName},
			Data:       map[string]string{"pods": count},
		}, metav1.CreateOptions{})
	}
	changed := current.DeepCopy() // objects in the store are shared
	if changed.Data == nil {
		changed.Data = make(map[string]string)
	}
	changed.Data["pods"] = count
	return client.Update(ctx, changed, metav1.UpdateOptions{})
}
