// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// op is what an update does with its Pods.
type op string

const (
	opSet    op = "SET"    // these are all Pods of the source; its first update
	opAdd    op = "ADD"    // these are new
	opUpdate op = "UPDATE" // these have changed, even if only in their status
	opDelete op = "DELETE" // these are gone
)

// update is a change of the Pods of one source.
type update struct {
	source string
	op     op
	pods   []*corev1.Pod // in the order of their names
}

// podSet is the whole set of Pods of a source at one time.
type podSet struct {
	source string
	pods   []*corev1.Pod
}

// podConfig merges the sets of several sources into updates.
type podConfig struct {
	sets    chan podSet
	updates chan update
	known   map[string]map[types.UID]*corev1.Pod // by source
}

func newPodConfig() *podConfig {
	return &podConfig{
		sets:    make(chan podSet),
		updates: make(chan update),
		known:   make(map[string]map[types.UID]*corev1.Pod),
	}
}

// set passes on the whole set of a source. It blocks until the set is merged, or ctx ends.
func (c *podConfig) set(ctx context.Context, source string, pods []*corev1.Pod) {
	select {
	case c.sets <- podSet{source, pods}:
	case <-ctx.Done():
	}
}

// Run merges sets until ctx ends, and closes updates.
func (c *podConfig) Run(ctx context.Context) error {
	defer close(c.updates)
	for {
		select {
		case <-ctx.Done():
			return nil
		case set := <-c.sets:
			for _, u := range c.merge(set) {
				select {
				case c.updates <- u:
				case <-ctx.Done():
					return nil
				}
			}
		}
	}
}

// merge returns the updates from the last set of a source to this one. A Pod is identified by its
// UID: one that was deleted and created again under its name is another Pod.
func (c *podConfig) merge(set podSet) (updates []update) {
	before, seen := c.known[set.source]
	after := make(map[types.UID]*corev1.Pod, len(set.pods))
	var added, changed, deleted []*corev1.Pod
	for _, pod := range set.pods {
		after[pod.UID] = pod
		switch old := before[pod.UID]; {
		case old == nil:
			added = append(added, pod)
		case !equality.Semantic.DeepEqual(old, pod):
			changed = append(changed, pod)
		}
	}
	for uid, pod := range before {
		if after[uid] == nil {
			deleted = append(deleted, pod)
		}
	}
	c.known[set.source] = after
	if !seen {
		return []update{{set.source, opSet, sorted(added)}}
	}
	for _, u := range []update{{set.source, opDelete, deleted}, {set.source, opAdd, added}, {set.source, opUpdate, changed}} {
		if len(u.pods) > 0 {
			u.pods = sorted(u.pods)
			updates = append(updates, u)
		}
	}
	return updates
}

func sorted(pods []*corev1.Pod) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}
