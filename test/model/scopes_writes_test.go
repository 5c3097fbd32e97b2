// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/cache"
)

// A program may write into the store of an informer, through client-go's Indexer. An object that no
// server object backs is removed by the next list of a scope that may hold it, or of any scope if
// none may, and leaves with the last scope that may hold it. A scope that has left the set counts
// until the informer removes it: one that Set has replaced is kept until the others are listed.
//
// What is checked of a write depends on its key. Under a key that no server object ever has, it is
// known which lists and scopes remove the object: see checkRemoval and checkLeft. Under other keys,
// the store must be equal to the server after all scopes were listed again, but for a changed copy
// of the present state, which a list keeps: it has the same UID and version. Until then any state
// of the server may follow.

var storeWrites = flag.Bool("model.writes", true, "some programs write into the store of an informer with scopes")

// Further values of scopedStep.Op, of programs that write into the store.
const (
	opWrite   = "write"   // adds or replaces Key in the store
	opErase   = "erase"   // deletes Key from the store
	opReplace = "replace" // replaces all objects in the store: by some of those that it has, and by Key
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

	// When the informer was last at rest: the number of lists sent, and the scopes that the
	// informer had, in the set or not.
	lists int
	held  []cache.Scope
	// Since then: the sets of scopes, the first one at rest, and the scopes that have left the set,
	// and that the informer may have.
	sets  [][]cache.Scope
	ended []cache.Scope
}

// ownedObject is an object that the program has written, with other content than any of the server.
type ownedObject struct {
	scopedState
	after    int  // the number of writes before it
	lists    int  // the number of lists that cannot have removed it
	covered  bool // a scope of the informer could hold it
	left     bool // one that may hold it has left the set
	outside  bool // no scope of the set could hold it, at one time or another
	replaced bool // by a later write, or deleted
	stray    bool // no scope of the informer could hold it, at one time or another
}

// isOwn reports whether the program has written the state, with other content than any of the
// server.
func (s scopedState) isOwn() bool { return s.value < 0 }

// coveredBy reports whether one of the scopes may hold an object, by its key and UID. If byName is
// false, names do not count: what must be removed is decided with them, and what may be, without.
func (s scopedState) coveredBy(scopes []cache.Scope, byName bool) bool {
	return slices.ContainsFunc(scopes, func(scope cache.Scope) bool {
		if !byName {
			scope.FieldSelector = ""
		}
		if s.uid == "" && scope.Hash.Field == cache.HashUID {
			scope.Hash = cache.HashRange{}
		}
		scope.LabelSelector = ""
		return s.isIn(scope)
	})
}

// isOutside reports whether none of the scopes may hold an object, by its key and UID.
func (s scopedState) isOutside(scopes []cache.Scope) bool { return !s.coveredBy(scopes, true) }

// rest records that the informer is at rest. The caller holds mu.
func (x *scopedExecution) rest() {
	set := x.scopes.All()
	x.writing.lists, x.writing.sets, x.writing.held, x.writing.ended = x.server.lists.count(), [][]cache.Scope{set}, nil, nil
	for _, status := range x.informer.ScopeStatus() {
		x.writing.held = append(x.writing.held, status.Scope)
		if !slices.Contains(set, status.Scope) {
			x.writing.ended = append(x.writing.ended, status.Scope)
		}
	}
	for _, w := range x.writing.own {
		w.stray = w.stray || w.isOutside(x.writing.held)
	}
}

// writeStore executes a step that writes into the store.
func (x *scopedExecution) writeStore(s scopedStep) {
	indexer := x.informer.(adapterScopes).informer.GetIndexer()
	defer x.server.lists.write()
	var err error
	switch s.Op {
	case opWrite:
		if obj := x.objectToWrite(s); obj != nil {
			x.touch(s.Key, obj)
			err = indexer.Add(obj)
			x.checkWritten(obj)
		}
	case opErase:
		x.touch(s.Key)
		err = indexer.Delete(&corev1.ConfigMap{ObjectMeta: metaOf(s.Key)})
	case opReplace:
		err = indexer.Replace(x.objectsToWrite(s), x.server.ResourceVersion())
	}
	if err != nil {
		x.fail("write", "%v", err)
	}
}

// objectsToWrite returns some of the objects in the store, and one of the program's.
func (x *scopedExecution) objectsToWrite(s scopedStep) (objects []any) {
	stored := x.informer.objects()
	for i, key := range sortedKeys(stored) {
		if kept := i%2 == s.N%2 && key != s.Key; kept {
			objects = append(objects, stored[key])
		}
		x.touch(key)
	}
	if obj := x.objectToWrite(s); obj != nil {
		x.touch(s.Key, obj)
		objects = append(objects, obj)
	}
	for _, key := range scopedKeys { // the informer may be about to store one of them
		x.touch(key)
	}
	return objects
}

// objectToWrite returns what the program writes under a key, or nil if the server or the store does
// not have the object.
func (x *scopedExecution) objectToWrite(s scopedStep) *corev1.ConfigMap {
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
		obj.UID = types.UID(fmt.Sprintf("own-%d", x.writing.n))
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

// touch records that the program is about to write an object under a key, or to delete it.
func (x *scopedExecution) touch(key string, written ...*corev1.ConfigMap) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing.touched[key] = true
	for _, w := range x.writing.own {
		w.replaced = w.replaced || w.key == key
	}
	after := x.server.lists.written()
	for _, obj := range written {
		s := scopedStateOf(obj)
		x.noteLocked("the program writes %v", s)
		if !s.isOwn() {
			continue
		}
		w := &ownedObject{scopedState: s, after: after, lists: x.writing.lists, left: s.coveredBy(x.writing.ended, false)}
		w.outside = slices.ContainsFunc(x.writing.sets, s.isOutside) || s.isOutside(x.scopes.All())
		if w.covered = !s.isOutside(x.writing.held); !x.resting { // the informer may have other scopes now
			w.covered = w.covered && !s.isOutside(x.writing.sets[0]) && !s.isOutside(x.scopes.All())
		}
		w.stray = !w.covered
		x.writing.own[s.value] = w
	}
}

// checkWritten checks that the store has what the program has written, if the informer was at rest.
func (x *scopedExecution) checkWritten(obj *corev1.ConfigMap) {
	if !x.resting {
		return
	}
	if got := x.stored()[keyOf(obj)]; got != scopedStateOf(obj) {
		x.fail("write", "the store has %v, written was %v", got, scopedStateOf(obj))
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
// has: a list that lacks it, the removal of the last scope that may hold it or a later write must
// be the cause. The caller holds mu.
func (x *scopedExecution) checkRemoval(s scopedState) {
	w := x.writing.own[s.value]
	if w == nil || w.replaced || !slices.Contains(ownKeys, s.key) || x.absence.possible {
		return
	}
	for _, list := range x.server.lists.since(w.lists) {
		if w.stray || list.mayHold(s, false) {
			return
		}
	}
	switch {
	case !w.left:
		x.failLocked("write", "deletion of %v, although no scope that may hold it was listed or removed", s)
	case !w.outside:
		x.failLocked("write", "deletion of %v, although the set always had a scope that may hold it, and none was listed", s)
	}
}

// change records that the set of scopes changes, and which scopes leave it. The caller holds mu.
func (x *scopedExecution) change(set []cache.Scope, gone ...cache.Scope) {
	x.writing.sets = append(x.writing.sets, set)
	x.writing.ended = append(x.writing.ended, gone...)
	for _, w := range x.writing.own {
		w.left = w.left || w.coveredBy(gone, false)
		w.outside = w.outside || w.isOutside(set)
	}
}

// checkLeft checks that the store has no object of the program that a list or the removal of a
// scope must have removed. The caller holds mu.
func (x *scopedExecution) checkLeft(stored map[string]scopedState) {
	for _, key := range ownKeys {
		w := x.writing.own[stored[key].value]
		if w == nil {
			continue
		}
		if len(x.informer.ScopeStatus()) == len(x.scopes.All()) && w.covered && !w.coveredBy(x.scopes.All(), false) {
			x.failLocked("write", "the store has %v, which no scope may hold any more", w.scopedState)
		}
		for _, list := range x.server.lists.since(w.lists) {
			if list.stored && list.writes > w.after && list.mayHold(w.scopedState, true) && !list.keys[key] {
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
// program has written stay where the server's cannot be stored, and without scopes.
func (x *scopedExecution) untouch() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.writing.touched) == 0 {
		return
	}
	if len(x.scopes.All()) == 0 {
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
