package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// nodeCache is the local copy of a cluster's nodes.
type nodeCache struct {
	server     string // for messages
	store      cache.Reader[*corev1.Node]
	controller *cache.Controller
}

// newNodeCache returns a cache of the source's nodes, which is kept up to date while its controller
// runs. The handler receives each change.
func newNodeCache(from *source, handler cache.EventHandler[*corev1.Node]) *nodeCache {
	lw := cache.ListWatchOf(from.client.CoreV1().Nodes())
	store, controller := cache.NewInformer(lw, &corev1.Node{}, 0, handler)
	return &nodeCache{server: from.name, store: store, controller: controller}
}

// An informer retries forever, as a controller requires. An interactive program reports an error
// after a while instead.
const (
	firstSyncTimeout = 10 * time.Second      // without any answer from the server
	maxAttempts      = 3                     // failed ones, about three seconds
	pollInterval     = 50 * time.Millisecond // between two looks at the controller's status
)

// waitForSync blocks until all nodes are listed or ctx ends. It returns an error if the list is
// unlikely to succeed.
func (n *nodeCache) waitForSync(ctx context.Context) error {
	deadline := time.Now().Add(firstSyncTimeout)
	for ctx.Err() == nil && !n.syncedWithin(ctx, pollInterval) {
		status := n.controller.Status()
		if shouldGiveUp(status) || time.Now().After(deadline) {
			return explainListError(n.server, status.Err)
		}
	}
	return nil
}

// syncedWithin waits for up to the timeout and reports whether all nodes are listed. If they are
// not, the controller's Status has the reason.
func (n *nodeCache) syncedWithin(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return n.controller.WaitForSync(ctx) == nil
}

// shouldGiveUp reports whether the first list is unlikely to succeed.
func shouldGiveUp(status cache.Status) bool {
	return isPermanent(status.Err) || status.Attempts >= maxAttempts || status.Phase == cache.PhaseInvalid
}
