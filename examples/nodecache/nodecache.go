// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/terminal"
)

// nodeCache is a local copy of a cluster's nodes, which is up to date while its controller runs.
type nodeCache struct {
	store      cache.Reader[*corev1.Node]
	controller *cache.Controller
}

// newNodeCache returns a cache whose handlers record each change in a view.
func newNodeCache(client kubernetes.Interface, view terminal.View) *nodeCache {
	nodes := cache.ListWatchOf(client.CoreV1().Nodes())
	store, controller := cache.NewInformer(nodes, &corev1.Node{}, 0, cache.ResourceEventHandlerFuncs[*corev1.Node]{
		AddFunc:    func(node *corev1.Node) { view.Record("added", node.Name, statusOf(node)) },
		UpdateFunc: func(before, after *corev1.Node) { view.Record("updated", after.Name, changesText(before, after)) },
		DeleteFunc: func(node *corev1.Node) { view.Record("deleted", node.Name, "") },
	})
	return &nodeCache{store, controller}
}

// state returns what a view shows: a snapshot of the store, and how recent it is.
func (c *nodeCache) state() terminal.State {
	nodes, status, now := c.store.Snapshot(), c.controller.Status(), time.Now()
	s := terminal.State{
		Summary: summary(nodes),
		Health:  string(status.Phase),
		Columns: columns(),
		Len:     nodes.Len(),
		Rows: func(yield func(terminal.Row) bool) {
			for _, node := range nodes.All() {
				if !yield(terminal.Row{Key: node.Name, Cells: cells(node, now), Style: style(node)}) {
					return
				}
			}
		},
	}
	if !status.Freshness.FreshAt.IsZero() {
		s.Health += fmt.Sprintf(" at resourceVersion %s, fresh %.1fs ago", nodes.ResourceVersion(), status.Freshness.Staleness.Seconds())
	}
	if status.Err != nil {
		s.Failure = fmt.Sprintf("since %s: %v", status.ErrSince.Format(time.TimeOnly), status.Err)
	}
	return s
}
