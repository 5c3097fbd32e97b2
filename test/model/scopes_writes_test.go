// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// A program may write into the store of an informer, through client-go's Indexer, also before the
// informer runs. A write is accepted if exactly one scope of the set may hold the object, which
// then belongs to that scope. A write that is refused changes nothing.
//
// What is checked of an accepted write depends on its key. Under a key that no server object ever
// has, the object must be removed by a list of its scope, by the removal of that scope or by a
// later write: see checkRemoval and checkLeft. Under other keys, the store must be equal to the
// server after all scopes were listed again, but for a changed copy of the present state, which a
// list keeps: it has the same UID and version. Until then any state of the server may follow.

var storeWrites = flag.Bool("model.writes", true, "some programs write into the store of an informer with scopes")

// Further values of scopedStep.Op, of programs that write into the store.
const (
	opWrite   = "write"   // adds or replaces Key in the store
	opErase   = "erase"   // deletes Key from the store
	opReplace = "replace" // replaces all objects in the store, which is an error
)

// Values of scopedStep.Write: what a program writes.
const (
	writeServerState = "server's state" // the present one, as after a request of the program
	writeChangedCopy = "changed copy"   // of the stored object
	writeWithoutUID  = "without UID"
	writeOwnUID      = "own UID" // which no object of the server has
)

// ownKeys are keys that no server object ever has.
var ownKeys = []string{"a/w", "b/w", "d/w"}

// storeWriting is what a scopedExecution remembers of the writes of its program.
type storeWriting struct {
	n       int                  // of objects that were written
	touched map[string]bool      // keys that may differ from the server's objects until all scopes were listed again
	own     map[int]*ownedObject // the objects that the program has written, by their values, which are negative

	lists int           // the number of lists sent when the informer was last at rest
	ended []cache.Scope // the scopes that have left the set since then
}

// ownedObject is an object that the program has written, with other content than any of the server.
type ownedObject struct {
	scopedState
	scope    cache.Scope // the only one of the set that could hold it
	after    int         // the number of writes before it
	lists    int         // the number of lists that cannot have removed it
	mayLeave bool        // the scope has left the set, or the informer may be about to remove it
	replaced bool        // by a later write, or deleted
}

// isOwn reports whether the program has written the state, with other content than any of the
// server.
func (s scopedState) isOwn() bool { return s.value < 0 }

// rest records that the informer is at rest. The caller holds mu.
func (x *scopedExecution) rest() { x.writing.lists, x.writing.ended = x.server.lists.count(), nil }

// writesEarly executes the first steps, of those that change the scopes or the store, before the
// informer runs. It returns the others.
func (x *scopedExecution) writesEarly(steps []scopedStep) []scopedStep {
	x.resting = x.namespaces == nil
	for len(steps) > 0 && slices.Contains([]string{opWrite, opErase, opReplace, opScopesAdd, opScopesRemove, opScopesSet}, steps[0].Op) {
		x.note("before Run: %v", steps[0])
		x.execute(steps[0])
		steps = steps[1:]
	}
	x.resting = false
	return steps
}

// writeStore executes a step that writes into the store. Handlers wait meanwhile.
func (x *scopedExecution) writeStore(s scopedStep) {
	indexer, before := x.informer.(adapterScopes).informer.GetIndexer(), x.stored()
	obj := x.objectToWrite(s)
	defer x.server.lists.write()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch s.Op {
	case opWrite:
		if obj != nil && x.writeObject(indexer, obj) {
			before[s.Key] = scopedStateOf(obj)
		}
	case opErase:
		if err := indexer.Delete(&corev1.ConfigMap{ObjectMeta: metaOf(s.Key)}); err != nil {
			x.failLocked("write", "deletion of %s: %v", s.Key, err)
		}
		x.touch(s.Key)
		delete(before, s.Key)
	case opReplace:
		if err := indexer.Replace(nil, x.server.ResourceVersion()); err == nil {
			x.failLocked("write", "the objects of all scopes were replaced")
		}
	}
	if after := x.stored(); x.resting && !maps.Equal(after, before) {
		x.failLocked("write", "the store has %v, want %v", after, before)
	}
}

// writeObject writes an object into the store, and reports whether that was accepted. The scopes of
// namespaces are not known, and change, while their informer works. The caller holds mu.
func (x *scopedExecution) writeObject(indexer clientcache.Indexer, obj *corev1.ConfigMap) (accepted bool) {
	s, set := scopedStateOf(obj), x.scopes.All()
	scope, only := scopeOf(set, s.identity())
	err := indexer.Add(obj)
	x.noteLocked("the program writes %v: %v", s, err)
	if x.namespaces != nil && !x.resting {
		scope, only = cache.Scope{Namespace: obj.Namespace}, err == nil
	}
	if (err == nil) != only || err != nil && !errors.Is(err, cache.ErrNotSelected) {
		x.failLocked("write", "%v, with the scopes %v: %v", s, set, err)
	}
	if err != nil {
		return false
	}
	x.touch(s.key)
	if s.isOwn() {
		x.writing.own[s.value] = &ownedObject{
			scopedState: s, scope: scope, after: x.server.lists.written(), lists: x.writing.lists, mayLeave: slices.Contains(x.writing.ended, scope),
		}
	}
	return true
}

// scopeOf returns the scope of a stored object, if that is in a set. It returns false if it is not.
// The caller holds mu.
func (x *scopedExecution) scopeOf(set []cache.Scope, s scopedState) (scope cache.Scope, found bool) {
	if w := x.writing.own[s.value]; s.isOwn() && w != nil {
		return w.scope, slices.Contains(set, w.scope)
	}
	return scopeOf(set, s.identity())
}

// objectToWrite returns what the program writes under a key, or nil if the server or the store does
// not have the object.
func (x *scopedExecution) objectToWrite(s scopedStep) *corev1.ConfigMap {
	if s.Op != opWrite {
		return nil
	}
	switch s.Write {
	case writeServerState:
		obj, exists := x.server.Get(s.Key)
		if !exists || obj.Data["bad"] != "" || !x.passes(scopedStateOf(obj)) { // a list would take it as unchanged
			return nil
		}
		if obj.Annotations = map[string]string{transformed: "1"}; x.program.Omit { // as the informer stores it
			obj.ManagedFields = nil
		}
		return obj
	case writeChangedCopy:
		obj := x.informer.objects()[s.Key]
		if obj == nil {
			return nil
		}
		return x.own(obj.DeepCopy())
	}
	obj := &corev1.ConfigMap{ObjectMeta: metaOf(s.Key)}
	if s.Env != "" {
		obj.Labels = map[string]string{"env": s.Env}
	}
	if s.Write == writeOwnUID {
		obj.UID = types.UID(fmt.Sprintf("%d-own", x.writing.n))
	}
	switch s.N {
	case 1:
		obj.ResourceVersion = x.server.ResourceVersion()
	case 2: // which the server has not reached
		obj.ResourceVersion = formatVersion(parseVersion(x.server.ResourceVersion()) + 100)
	}
	return x.own(obj)
}

// own gives an object a content that no object of the server has.
func (x *scopedExecution) own(obj *corev1.ConfigMap) *corev1.ConfigMap {
	x.writing.n++
	obj.Data = map[string]string{"value": strconv.Itoa(-x.writing.n)}
	return obj
}

func metaOf(key string) metav1.ObjectMeta {
	namespace, name, _ := strings.Cut(key, "/")
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// touch records that the program has written an object under a key, or deleted it. The caller holds
// mu.
func (x *scopedExecution) touch(key string) {
	x.writing.touched[key] = true
	for _, w := range x.writing.own {
		w.replaced = w.replaced || w.key == key
	}
}

// checkOwn checks an addition or update with a state that the program has written. The caller holds
// mu.
func (x *scopedExecution) checkOwn(eventType cache.EventType, s scopedState) {
	if w := x.writing.own[s.value]; w == nil || w.scopedState != s {
		x.failLocked("event", "%s of %v, which was never written", eventType, s)
	}
}

// checkRemoval checks the deletion of an object of the program, under a key that no server object
// has: a list of its scope, the removal of that scope or a later write must be the cause. The
// caller holds mu.
func (x *scopedExecution) checkRemoval(s scopedState) {
	w := x.writing.own[s.value]
	if w == nil || w.replaced || w.mayLeave || !slices.Contains(ownKeys, s.key) || x.absence.possible {
		return
	}
	if !slices.ContainsFunc(x.server.lists.since(w.lists), func(list scopedList) bool { return list.isOf(w.scope) }) {
		x.failLocked("write", "deletion of %v, although its scope %v was not listed, nor removed", s, w.scope)
	}
}

// change records which scopes leave the set. The caller holds mu.
func (x *scopedExecution) change(gone ...cache.Scope) {
	x.writing.ended = append(x.writing.ended, gone...)
	for _, w := range x.writing.own {
		w.mayLeave = w.mayLeave || slices.Contains(gone, w.scope)
	}
}

// checkLeft checks that the store has no object of the program that a list must have removed. The
// caller holds mu.
func (x *scopedExecution) checkLeft(stored map[string]scopedState) {
	for _, key := range ownKeys {
		w := x.writing.own[stored[key].value]
		if w == nil {
			continue
		}
		for _, list := range x.server.lists.since(w.lists) {
			if list.stored && list.writes > w.after && list.isOf(w.scope) && !list.keys[key] {
				x.failLocked("write", "the store has %v, which the list of %q at %s lacks", w.scopedState, selectionOf(list.options), list.version)
			}
		}
	}
}

// relist lets the informer list all scopes again: the server no longer has the versions of their
// watches.
func (x *scopedExecution) relist() {
	x.server.SkipVersions(1)
	x.server.TruncateWatchCache()
	for lane := range lanes {
		x.server.closeLane(lane)
	}
}

// untouch forgets the writes of the program: the store is equal to the server. States that the
// program has written stay where the server's cannot be stored.
func (x *scopedExecution) untouch() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.writing.touched) == 0 {
		return
	}
	clear(x.writing.touched)
	for key, s := range x.delivered {
		if s.isOwn() {
			x.writing.touched[key] = true
		}
	}
	x.resetFloors()
}

// withoutTouched removes the objects from both maps whose keys the program has written.
func (x *scopedExecution) withoutTouched(expected, stored map[string]scopedState) (want, got map[string]scopedState) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key := range x.writing.touched {
		delete(stored, key)
		delete(expected, key)
	}
	return expected, stored
}

// withChangedCopies replaces the expected states of which the program has written a changed copy
// that the store still has.
func withChangedCopies(expected, stored map[string]scopedState) map[string]scopedState {
	for key, got := range stored {
		if want, ok := expected[key]; ok && got.isOwn() && got.uid == want.uid && got.version == want.version {
			expected[key] = got
		}
	}
	return expected
}

// hasTouched reports whether the store may differ from the server by what the program has written.
func (x *scopedExecution) hasTouched() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.writing.touched) > 0
}
