// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"slices"
	"strconv"

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
			delete(x.leaving, e.Key)
			continue
		}
		x.delivered[e.Key] = s
		x.floors[e.Key] = s
	}
}

// lateHandler is a handler that was added later. The execution's mu guards it.
type lateHandler struct {
	delivered map[string]scopedState
	release   chan struct{} // closed to end the first call, which blocks; nil if none does
}

// recordLate returns the batch handler of a lateHandler.
func (x *scopedExecution) recordLate(late *lateHandler) func(events []cache.Event[*corev1.ConfigMap]) {
	return func(events []cache.Event[*corev1.ConfigMap]) {
		x.mu.Lock()
		release := late.release
		x.mu.Unlock()
		if release != nil {
			<-release
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, e := range events {
			last, known := late.delivered[e.Key]
			if known != (e.Type != cache.EventAdd) || e.Type == cache.EventUpdate && scopedStateOf(e.Old) != last {
				x.failLocked("event", "late handler: %s of %s, from %v, delivered before: %v %v", e.Type, e.Key, e.Old, known, last)
			}
			if e.Type == cache.EventDelete {
				delete(late.delivered, e.Key)
			} else {
				late.delivered[e.Key] = scopedStateOf(e.New)
			}
		}
	}
}

// unblockLate ends the calls of late handlers that block.
func (x *scopedExecution) unblockLate() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, late := range x.late {
		if late.release != nil {
			close(late.release)
			late.release = nil
		}
	}
}

// transformScoped adds an annotation, in place, with the number of times that it was called. It
// fails for bad states.
func transformScoped(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	switch obj.Data["bad"] {
	case badTransform:
		return nil, errBad
	case badPanic:
		panic(errBad)
	case badSkip:
		return nil, cache.ErrSkip
	}
	times, _ := strconv.Atoi(obj.Annotations[transformed])
	obj.Annotations = map[string]string{transformed: strconv.Itoa(times + 1)}
	return obj, nil
}

// checkIntact checks that a stored object was transformed once, and lacks the fields that are
// omitted. The caller holds mu.
func (x *scopedExecution) checkIntact(obj *corev1.ConfigMap) {
	if x.writing.touched[keyOf(obj)] {
		return
	}
	if times := obj.Annotations[transformed]; times != "1" || (len(obj.ManagedFields) == 0) != (x.program.Omit || x.program.Partial) {
		x.failLocked("intact", "%v was transformed %q times, and has the managedFields %v", scopedStateOf(obj), times, obj.ManagedFields)
	}
}

func indexEnv(obj *corev1.ConfigMap) ([]string, error) {
	if obj.Data["bad"] == badIndex {
		return nil, errBad
	}
	return []string{obj.Labels["env"]}, nil
}

// filter fails for bad states.
func (x *scopedExecution) filter(obj *corev1.ConfigMap) bool {
	if obj.Data["bad"] == badFilter {
		panic(errBad)
	}
	return x.passes(scopedStateOf(obj))
}

// checkEvent checks that an event may follow those delivered. The caller holds mu.
func (x *scopedExecution) checkEvent(e cache.Event[*corev1.ConfigMap], s scopedState) {
	last, known := x.delivered[e.Key]
	switch {
	case known != (e.Type != cache.EventAdd):
		x.failLocked("event", "%s of %v, delivered before: %v", e.Type, s, known)
	case known && last.uid != s.uid && last.uid != "" && s.uid != "":
		x.failLocked("event", "%s of %v, delivered before: %v", e.Type, s, last)
	case e.LeftScope && e.Type != cache.EventDelete:
		x.failLocked("left scope", "%s of %v", e.Type, s)
	case x.restoring:
	case e.Type == cache.EventDelete && last.isOwn():
		x.checkRemoval(last)
	case e.Type == cache.EventDelete && x.writing.touched[e.Key]:
	case e.Type == cache.EventDelete:
		x.checkDeletion(last, e.LeftScope)
	case s.isOwn():
		x.checkOwn(e.Type, s)
	default:
		x.checkNewState(e, s)
	}
	if (e.Type == cache.EventUpdate || e.Type == cache.EventDelete && !x.program.Adapter) && (e.Old == nil || scopedStateOf(e.Old) != last) {
		x.failLocked("old state", "%s with the old state %v, delivered before: %v", e.Type, e.Old, last)
	}
}

// checkNewState checks that a state was on the server, and is later than those delivered of its
// key.
func (x *scopedExecution) checkNewState(e cache.Event[*corev1.ConfigMap], s scopedState) {
	if s.isKept() {
		x.failLocked("event", "%s of %v, which cannot be stored", e.Type, s)
	}
	again := x.writing.touched[e.Key] && s == x.delivered[e.Key] // a last good state may have been undone by a restore
	if !x.world.has(s) && !again {
		x.failLocked("event", "%s of %v, which was not on the server", e.Type, s)
	}
	if floor := x.floors[e.Key]; s.version <= floor.version && !x.writing.touched[e.Key] {
		x.failLocked("order", "%s of %v, after %v", e.Type, s, floor)
	}
	if _, dead := x.dead[s.uid]; dead {
		x.failLocked("order", "%s of %v, whose deletion was delivered", e.Type, s)
	}
}

// checkDeletion checks the deletion of an object whose last state was delivered.
func (x *scopedExecution) checkDeletion(last scopedState, leftScope bool) {
	from, undone := last.version, !x.world.has(last) // by a restore
	if undone {
		from = 0
	}
	states := x.world.since(last.key, last.uid, from)
	gone := func(s scopedState) bool { return s.deleted }
	refused := func(s scopedState) bool { return !x.passes(s) }
	// ends reports whether the object is deleted, or the selectors of its scope no longer match.
	ends := func(s scopedState) bool {
		return s.deleted || slices.ContainsFunc(x.covers, func(cover []cache.Scope) bool {
			scope, only := scopeOf(cover, s.identity())
			return only && !s.isIn(scope)
		})
	}
	inside := func(s scopedState) bool {
		return !s.deleted && slices.ContainsFunc(x.covers, func(cover []cache.Scope) bool { return s.in(cover) })
	}
	removed := slices.ContainsFunc(x.removed, func(scope cache.Scope) bool { return mayHold(scope, last.identity()) })
	mayLeave := removed || x.mayBeCleared() || slices.ContainsFunc(states, refused)
	if x.program.Adapter { // whose events do not say so
		leftScope = mayLeave
	}
	switch {
	case leftScope && !mayLeave:
		x.failLocked("left scope", "%v has left its scope, which was not removed", last)
	case !leftScope && !slices.ContainsFunc(states, ends):
		x.failLocked("deletion", "of %v, which exists, and is in its scope", last)
	case leftScope, x.mayBeCleared() && x.server.lagging.Load() > 0: // its last state may come back, also from a replica that has not seen the definition's deletion
		if last.version--; !undone {
			x.floors[last.key] = last
		}
	case slices.ContainsFunc(states, gone) && !slices.ContainsFunc(states[slices.IndexFunc(states, ends):], inside):
		x.dead[last.uid] = last
	}
}

// passes reports whether the filter does not refuse a state. It fails for some, and is not called
// with those that cannot be decoded.
func (x *scopedExecution) passes(s scopedState) bool {
	return !x.program.Filter || s.value%3 != 0 || s.bad == badFilter || s.bad == badBytes
}

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
