// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
)

// reconcileTimeout is how long one attempt may take, with its requests and its waits for the
// informers. One that takes longer fails, and is made again.
const reconcileTimeout = 30 * time.Second

// worker runs informers, and brings one object at a time to the wanted state. K says which object.
type worker[K comparable] struct {
	name      string
	queue     workqueue.TypedRateLimitingInterface[K]
	informers cache.Group
	reconcile func(ctx context.Context, key K) error
}

func newWorker[K comparable](name string, reconcile func(ctx context.Context, key K) error, informers ...cache.Viewable) *worker[K] {
	w := &worker[K]{
		name:      name,
		queue:     workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[K]()),
		reconcile: reconcile,
	}
	w.informers.Add(informers...)
	return w
}

// Run runs the informers, and works until ctx ends.
func (w *worker[K]) Run(ctx context.Context) error { return cache.RunAll(ctx, w.informers.Run, w.work) }

func (w *worker[K]) work(ctx context.Context) error {
	switch err := w.informers.WaitForSync(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	for {
		key, shutDown := w.queue.Get()
		if shutDown {
			return nil
		}
		w.attempt(ctx, key)
	}
}

// attempt reconciles an object, and adds it to the queue again if that fails.
func (w *worker[K]) attempt(ctx context.Context, key K) {
	defer w.queue.Done(key)
	limited, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	if err := w.reconcile(limited, key); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Trying again", "component", w.name, "object", key)
		w.queue.AddRateLimited(key)
		return
	}
	w.queue.Forget(key)
}
