// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal"
)

// nodeCache is the local copy of a cluster's nodes.
type nodeCache struct {
	server     string // for messages
	store      cache.Reader[*corev1.Node]
	controller *cache.Controller
	debugPage  string // its URL, empty if it is not served
}

// newNodeCache returns a cache of the source's nodes, which is kept up to date while its controller
// runs. The handler receives each change.
func newNodeCache(from *source, handler cache.EventHandler[*corev1.Node]) *nodeCache {
	lw := cache.ListWatchOf(from.client.CoreV1().Nodes())
	store, controller := cache.NewInformer(lw, &corev1.Node{}, 0, handler)
	return &nodeCache{server: from.name, store: store, controller: controller}
}

// shown returns what a view shows of the cache. It runs the controller.
func (n *nodeCache) shown() terminal.Shown {
	return terminal.Shown{Noun: "nodes", Server: n.server, Informer: n.controller, State: n.state}
}

// state returns the current state, from a snapshot of the store.
func (n *nodeCache) state(now time.Time) terminal.State {
	state := stateOf(n.server, n.store.Snapshot(), n.controller.Status(), now)
	if n.debugPage != "" {
		state.Title += "; debug page at " + n.debugPage
	}
	return state
}

func stateOf(server string, nodes cache.Snapshot[*corev1.Node], status cache.Status, now time.Time) terminal.State {
	return terminal.State{
		Title:           "node cache of " + server,
		Summary:         nodeSummary(nodes),
		Columns:         headers(),
		Len:             nodes.Len(),
		Rows:            func(limit int) []terminal.Row { return rows(nodes, now, limit) },
		ResourceVersion: nodes.ResourceVersion(),
		Status:          status,
		Now:             now,
	}
}
