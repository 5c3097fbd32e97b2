// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// worker brings one object at a time to the wanted state.
type worker struct {
	name      string
	queue     workqueue.TypedRateLimitingInterface[string] // keys of objects
	synced    []interface{ WaitForSync(context.Context) error }
	reconcile func(ctx context.Context, key string) error
}

func newWorker(name string, reconcile func(ctx context.Context, key string) error, synced ...interface{ WaitForSync(context.Context) error }) *worker {
	return &worker{
		name:      name,
		queue:     workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		synced:    synced,
		reconcile: reconcile,
	}
}

// Run works until ctx ends.
func (w *worker) Run(ctx context.Context) error {
	for _, informer := range w.synced {
		if err := informer.WaitForSync(ctx); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	for {
		key, shutDown := w.queue.Get()
		if shutDown {
			return nil
		}
		if err := w.reconcile(ctx, key); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Trying again", "component", w.name, "object", key)
			w.queue.AddRateLimited(key)
		} else {
			w.queue.Forget(key)
		}
		w.queue.Done(key)
	}
}
