// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// record is the batch handler of a scoped execution. It checks each event.
func (x *scopedExecution) record(events []cache.Event[*corev1.ConfigMap]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range events {
		s := scopedStateOf(e.Object())
		x.noteLocked("%s %v, left %v, initial %v", e.Type, s, e.LeftScope, e.InInitialList)
		x.checkEvent(e, s)
		if e.Type == cache.EventDelete {
			delete(x.delivered, e.Key)
			continue
		}
		x.delivered[e.Key] = s
		x.floors[e.Key] = s
	}
}

// checkEvent checks that an event may follow those delivered. The caller holds mu.
func (x *scopedExecution) checkEvent(e cache.Event[*corev1.ConfigMap], s scopedState) {
	last, known := x.delivered[e.Key]
	switch {
	case known != (e.Type != cache.EventAdd):
		x.failLocked("event", "%s of %v, delivered before: %v", e.Type, s, known)
	case known && last.uid != s.uid:
		x.failLocked("event", "%s of %v, delivered before: %v", e.Type, s, last)
	case e.LeftScope && e.Type != cache.EventDelete:
		x.failLocked("left scope", "%s of %v", e.Type, s)
	case x.restoring:
	case e.Type == cache.EventDelete:
		x.checkDeletion(last, e.LeftScope)
	default:
		x.checkNewState(e, s)
	}
	if e.Type == cache.EventUpdate && scopedStateOf(e.Old) != last {
		x.failLocked("old state", "update from %v, delivered before: %v", scopedStateOf(e.Old), last)
	}
}

// checkNewState checks that a state was on the server, and is later than those delivered of its
// key.
func (x *scopedExecution) checkNewState(e cache.Event[*corev1.ConfigMap], s scopedState) {
	if !slices.Contains(x.world.since(s.key, s.uid, s.version), s) {
		x.failLocked("event", "%s of %v, which was not on the server", e.Type, s)
	}
	if floor := x.floors[e.Key]; s.version <= floor.version {
		x.failLocked("order", "%s of %v, after %v", e.Type, s, floor)
	}
	if _, dead := x.dead[s.uid]; dead {
		x.failLocked("order", "%s of %v, whose deletion was delivered", e.Type, s)
	}
}

// checkDeletion checks the deletion of an object whose last state was delivered.
func (x *scopedExecution) checkDeletion(last scopedState, leftScope bool) {
	states := x.world.since(last.key, last.uid, last.version)
	gone := func(s scopedState) bool { return s.deleted }
	moved := func(s scopedState) bool { return s.env != last.env || s.deleted }
	outside := func(s scopedState) bool {
		return s.deleted || !x.passes(s) || slices.ContainsFunc(x.covers, func(cover []cache.Scope) bool { return !s.in(cover) })
	}
	inside := func(s scopedState) bool {
		return !s.deleted && slices.ContainsFunc(x.covers, func(cover []cache.Scope) bool { return s.in(cover) })
	}
	refused := func(s scopedState) bool { return !x.passes(s) }
	switch {
	case !slices.ContainsFunc(states, outside):
		x.failLocked("deletion", "of %v (left scope: %v), which is in the scopes", last, leftScope)
	case leftScope:
		if !last.in(x.removed) && !slices.ContainsFunc(states, refused) {
			x.failLocked("left scope", "%v has left a scope, none of which was removed", last)
		}
		last.version-- // its last state may come back
		x.floors[last.key] = last
	case !slices.ContainsFunc(states, moved):
		x.failLocked("left scope", "deletion of %v, which exists", last)
	case slices.ContainsFunc(states, gone) && !slices.ContainsFunc(states[slices.IndexFunc(states, outside):], inside):
		x.dead[last.uid] = last
	}
}

// passes reports whether a state passes the filter.
func (x *scopedExecution) passes(s scopedState) bool { return !x.program.Filter || s.value%2 == 0 }

// expected returns the objects of the scopes.
func (x *scopedExecution) expected() map[string]scopedState {
	objects := x.world.now()
	for key, s := range objects {
		if !s.in(x.scopes.All()) || !x.passes(s) {
			delete(objects, key)
		}
	}
	return objects
}
