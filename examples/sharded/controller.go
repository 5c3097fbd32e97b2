// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/shard"
)

// controller stamps the ConfigMaps of the slots that this replica owns.
type controller struct {
	client     kubernetes.Interface
	member     *shard.Member
	configMaps *cache.SharedInformer[*corev1.ConfigMap]
	queue      workqueue.TypedRateLimitingInterface[string] // keys of ConfigMaps

	stamped, conflicts atomic.Uint64
}

// newController returns a controller that is not running. It makes no request.
func newController(client kubernetes.Interface, namespace string, member *shard.Member) (*controller, error) {
	ofExample := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{appLabel: appName}))
	c := &controller{
		client: client,
		member: member,
		// The store has the ConfigMaps of the member's slots, and no others.
		configMaps: cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().ConfigMaps(namespace), ofExample),
			&corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: member.Scopes()}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := c.configMaps.AddKeyHandler(func(event cache.KeyEvent) { c.queue.Add(event.Key) }, cache.HandlerOptions{Name: "stamp"})
	return c, err
}

// Run stamps ConfigMaps until ctx ends, and returns nil then. The member hands its slots over once
// the last write has ended: one that is cut off may have been made all the same, and is an error in
// the log.
func (c *controller) Run(ctx context.Context) error {
	owning, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	return cache.RunAll(owning, c.member.Run, c.configMaps.Run, func(owning context.Context) error {
		defer stop()
		return c.work(ctx, owning)
	})
}

// work processes the queue with four workers until one of the contexts ends. It does not wait until
// the informer has synced, as reconcile looks at one object only.
func (c *controller) work(ctx, owning context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(owning, cancel)
	context.AfterFunc(ctx, c.queue.ShutDown)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for ctx.Err() == nil && c.processNext(owning) {
			}
		})
	}
	workers.Wait()
	return nil
}

// processNext processes one ConfigMap. It returns false once the queue is shut down.
func (c *controller) processNext(ctx context.Context) bool {
	key, shutDown := c.queue.Get()
	if shutDown {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(ctx, key); err != nil && ctx.Err() == nil {
		if !errors.Is(err, shard.ErrNotOwner) {
			klog.FromContext(ctx).Error(err, "Could not stamp a ConfigMap, trying again", "configMap", key)
		}
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	return true
}

// reconcile stamps a ConfigMap. If the slot is not this replica's, it returns shard.ErrNotOwner,
// and is called again: the informer is about to drop the ConfigMap then, unless this replica takes
// the slot again before. The informer does not report the ConfigMap in that case.
func (c *controller) reconcile(ctx context.Context, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	configMap, err := cache.NewLister(c.configMaps.Store(), corev1.Resource("configmaps")).Namespace(namespace).Get(name)
	switch {
	case errors.Is(err, cache.ErrNoScope):
		return c.leave(ctx, namespace, name)
	case apierrors.IsNotFound(err):
		return nil // deleted
	case err != nil:
		return fmt.Errorf("get: %w", err)
	}
	slot, ok := c.member.Slot(configMap)
	if !ok {
		return shard.ErrNotOwner
	}
	changed := stamp(configMap, slot)
	if maps.Equal(configMap.Annotations, changed.Annotations) {
		return nil
	}
	ctx, cancel := slot.Context(ctx)
	defer cancel()
	// The update carries the resourceVersion of the ConfigMap in the store.
	_, err = c.client.CoreV1().ConfigMaps(configMap.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
	switch {
	case err == nil:
		c.stamped.Add(1)
		return nil
	case errors.Is(context.Cause(ctx), shard.ErrNotOwner):
		return context.Cause(ctx) // the slot was lost meanwhile
	case apierrors.IsConflict(err):
		c.conflicts.Add(1) // the informer will report the newer state
		return nil
	case apierrors.IsNotFound(err):
		return nil
	}
	return fmt.Errorf("update: %w", err)
}

// leave is called for a ConfigMap that the informer does not hold, and whose deletion it has not
// seen. Whether it exists, only the server knows: another replica stamps it then. A controller that
// cleans up after deletions must ask, and so must one that reads a related object: no event of the
// reconciled one would follow.
func (c *controller) leave(ctx context.Context, namespace, name string) error {
	_, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // deleted: a controller would clean up here
	}
	return err // if nil, it is another replica's
}

// stamp returns a copy of a ConfigMap with annotations that name its owner, and the data that the
// owner has seen.
func stamp(configMap *corev1.ConfigMap, slot *shard.Slot) *corev1.ConfigMap {
	changed := configMap.DeepCopy() // objects in the store are shared
	if changed.Annotations == nil {
		changed.Annotations = make(map[string]string)
	}
	changed.Annotations["example.com/owner"] = slot.Incarnation
	changed.Annotations["example.com/slot"] = strconv.Itoa(slot.Number)
	changed.Annotations["example.com/transition"] = strconv.Itoa(int(slot.Transition))
	changed.Annotations["example.com/seen"] = configMap.Data["change"]
	return changed
}
