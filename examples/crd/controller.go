// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
)

const writeTimeout = 30 * time.Second // until the informer has seen a write

// controller paints Widgets: it writes the color of a Widget's spec into its status.
type controller struct {
	client  rest.Interface
	widgets *cache.SharedInformer[*Widget]
	queue   workqueue.TypedRateLimitingInterface[string] // keys of Widgets
}

// newController returns a controller that is not running. It makes no request.
func newController(client rest.Interface) (*controller, error) {
	c := &controller{
		client:  client,
		widgets: typedInformer(client),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := c.widgets.AddKeyHandler(func(event cache.KeyEvent) { c.queue.Add(event.Key) }, cache.HandlerOptions{Name: "paint"})
	return c, err
}

// run runs the informer and one worker until ctx ends.
func (c *controller) run(ctx context.Context) error {
	return cache.RunAll(ctx, c.widgets.Run, c.work)
}

func (c *controller) work(ctx context.Context) error {
	context.AfterFunc(ctx, c.queue.ShutDown)
	for {
		key, shutDown := c.queue.Get()
		if shutDown {
			return nil
		}
		if err := c.reconcile(ctx, key); err == nil {
			c.queue.Forget(key)
		} else if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Could not paint a Widget, trying again", "widget", key)
			c.queue.AddRateLimited(key)
		}
		c.queue.Done(key)
	}
}

// reconcile writes the status of a Widget, and waits until the informer has seen that.
func (c *controller) reconcile(ctx context.Context, key string) error {
	widget, exists := c.widgets.Store().GetByKey(key)
	if !exists || widget.Status.Painted == widget.Spec.Color {
		return nil
	}
	changed := widget.DeepCopyObject().(*Widget) // objects in the store must not be changed
	changed.Status.Painted = widget.Spec.Color
	written := &Widget{}
	err := c.client.Put().Resource("widgets").Namespace(widget.Namespace).Name(widget.Name).SubResource("status").
		Body(changed).Do(ctx).Into(written)
	if apierrors.IsNotFound(err) {
		return nil // the Widget has been deleted
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	fmt.Printf("typed         painted %s %s, size %d\n", key, written.Status.Painted, written.Spec.Size)
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.widgets.WaitForObject(ctx, written)
}
