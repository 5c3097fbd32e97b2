package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// nodeCache is the local copy of a cluster's nodes.
type nodeCache struct {
	server     string // for people
	store      cache.Reader[*corev1.Node]
	controller *cache.Controller
}

// newNodeCache returns a cache that is kept while its controller runs, and whose
// changes a handler hears of. This is all that it takes.
func newNodeCache(from *source, handler cache.ResourceEventHandler[*corev1.Node]) *nodeCache {
	lw := cache.ListWatchOf(from.client.CoreV1().Nodes())
	store, controller := cache.NewInformer(lw, &corev1.Node{}, 0, handler)
	return &nodeCache{server: from.name, store: store, controller: controller}
}

// The informer tries for ever, as it should in a controller. Somebody who waits
// before a screen is told after a while what is wrong.
const (
	firstWait   = 10 * time.Second // without any answer
	maxAttempts = 3                // that have failed: some three seconds
	lookEvery   = 50 * time.Millisecond
)

// awaitSync waits until all nodes are in the cache. The error says why they are
// not, when there is little hope that they will be. That ctx ends is none.
func (n *nodeCache) awaitSync(ctx context.Context) error {
	deadline := time.Now().Add(firstWait)
	for ctx.Err() == nil && !n.syncs(ctx, lookEvery) {
		status := n.controller.Status()
		if hopeless(status) || time.Now().After(deadline) {
			return explain(n.server, status.Err)
		}
	}
	return nil
}

// syncs waits for so long, and tells whether all nodes are in the cache by then.
// Why they are not is in the Status, with how often it was tried.
func (n *nodeCache) syncs(ctx context.Context, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return n.controller.WaitForSync(ctx) == nil
}

// hopeless tells whether it is time to give up on the first list.
func hopeless(status cache.Status) bool {
	return isFinal(status.Err) || status.Attempts >= maxAttempts || status.Phase == cache.PhaseInvalid
}
