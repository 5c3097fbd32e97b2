// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cache"
)

// scopedState is a state of an object, or its deletion.
type scopedState struct {
	key, uid string
	version  uint64
	env      string
	value    int    // of the n-th write
	bad      string // which function fails for the state; see badStates
	deleted  bool
}

func (s scopedState) String() string {
	if s.deleted {
		return fmt.Sprintf("%s/%s deleted at %d", s.key, s.uid, s.version)
	}
	return fmt.Sprintf("%s/%s@%d env=%s value=%d %s", s.key, s.uid, s.version, s.env, s.value, s.bad)
}

// isKept reports whether the store keeps the last good state instead of this one.
func (s scopedState) isKept() bool { return s.bad != "" && s.bad != badIndex }

// scopedStateOf returns the state of a ConfigMap.
func scopedStateOf(obj *corev1.ConfigMap) scopedState {
	value, err := strconv.Atoi(obj.Data["value"])
	if err != nil {
		panic(err)
	}
	return scopedState{
		key: obj.Namespace + "/" + obj.Name, uid: string(obj.UID), version: parseVersion(obj.ResourceVersion), env: obj.Labels["env"], value: value,
		bad: obj.Data["bad"],
	}
}

// scopedWorld is the history of a collection.
type scopedWorld struct {
	server *scopedServer

	mu     sync.Mutex    // guards the fields below
	log    []scopedState // in the order of the versions
	floor  uint64        // the collection cannot be restored to an earlier version
	writes int

	namespaces map[string]bool // the namespaces that exist; nil if all do
	gone       bool            // the definition was deleted; belongs to the test's goroutine
}

// canHold reports whether the namespace of a key exists, and the definition.
func (w *scopedWorld) canHold(key string) bool {
	namespace, _, _ := strings.Cut(key, "/")
	return !w.gone && (w.namespaces == nil || w.namespaces[namespace])
}

func (w *scopedWorld) object(key, env, bad string) *corev1.ConfigMap {
	namespace, name, _ := strings.Cut(key, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: key, Time: new(metav1.Unix(int64(w.writes), 0))}},
		},
		Data: map[string]string{"value": strconv.Itoa(w.writes)},
	}
	if bad != "" {
		obj.Data["bad"] = bad
	}
	if env != "" {
		obj.Labels = map[string]string{"env": env}
	}
	return obj
}

// put creates or updates an object. The history has the state before an informer can see it.
func (w *scopedWorld) put(key, env, bad string) {
	obj := w.object(key, env, bad)
	w.write(func() scopedState {
		if _, exists := w.server.Get(key); exists {
			return scopedStateOf(w.server.Update(obj))
		}
		return scopedStateOf(w.server.Create(obj))
	})
}

// writeIn creates an object in a scope, or updates one that is in it, and reports whether it could.
// No object leaves another scope: a restored server might repeat that deletion, which is the last
// change of a watch, as it was. The UID of a new object, and so its hash, is not known before.
func (w *scopedWorld) writeIn(scope cache.Scope) bool {
	for _, key := range scopedKeys {
		for _, env := range environments {
			s, exists := w.now()[key]
			if exists && !s.isIn(scope) {
				continue
			}
			s.key, s.env = key, env
			anywhere := scope
			if !exists && scope.Hash.Field == cache.HashUID {
				anywhere.Hash = cache.HashRange{}
			}
			if !w.canHold(key) || !s.isIn(anywhere) {
				continue
			}
			w.put(key, env, "")
			if w.now()[key].isIn(scope) {
				return true
			}
		}
	}
	return false
}

func (w *scopedWorld) remove(key string) {
	if _, exists := w.server.Get(key); exists {
		w.write(func() scopedState {
			s := scopedStateOf(w.server.Delete(key))
			s.deleted = true
			return s
		})
	}
}

// write records a change. Handlers wait for it meanwhile.
func (w *scopedWorld) write(change func() scopedState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, change())
}

func (w *scopedWorld) compact() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.floor = parseVersion(w.server.ResourceVersion())
	w.server.Compact()
}

// restore undoes up to n changes, and returns them.
func (w *scopedWorld) restore(n int) (lost []scopedState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version := w.floor
	kept := len(w.log)
	for kept > 0 && w.log[kept-1].version > w.floor {
		if n == 0 {
			version = w.log[kept-1].version
			break
		}
		n--
		kept--
	}
	lost = slices.Clone(w.log[kept:])
	w.log = w.log[:kept]
	w.server.Restore(formatVersion(version))
	return lost
}

// restoreAndOvertake undoes up to n changes, and writes until the version is past the last one. In
// the place of each undone change, with its version, there is another state of the object, or one
// of another object, or nothing, as two bits of the pattern say. No request is answered meanwhile.
func (w *scopedWorld) restoreAndOvertake(n int, how string, pattern int) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	reached := parseVersion(w.server.ResourceVersion())
	lost := w.restore(n)
	if how == overtakeRestarted {
		w.server.TruncateWatchCache()
	}
	put := func(key string, n int) {
		if w.canHold(key) {
			w.put(key, environments[n%len(environments)], "")
		}
	}
	for i, s := range lost[:min(len(lost), maxPattern)] {
		bits := pattern >> (2 * i)
		if bits&3 == 3 {
			continue
		}
		w.server.SkipVersions(s.version - 1 - parseVersion(w.server.ResourceVersion()))
		if bits&3 == 2 {
			put(scopedKeys[i%len(scopedKeys)], bits>>2)
		} else {
			put(s.key, bits>>2)
		}
	}
	if head := parseVersion(w.server.ResourceVersion()); head <= reached {
		w.server.SkipVersions(reached + 1 - head)
	}
	if pattern&1 == 0 {
		put(scopedKeys[pattern%len(scopedKeys)], pattern>>2)
	}
	if how == overtakeExpired {
		w.server.TruncateWatchCache()
	}
}

// now returns the objects that exist.
func (w *scopedWorld) now() map[string]scopedState {
	w.mu.Lock()
	defer w.mu.Unlock()
	objects := make(map[string]scopedState)
	for _, s := range w.log {
		if s.deleted {
			delete(objects, s.key)
		} else {
			objects[s.key] = s
		}
	}
	return objects
}

// has reports whether the history has a state.
func (w *scopedWorld) has(s scopedState) bool {
	return slices.Contains(w.since(s.key, s.uid, s.version), s)
}

// since returns the states of an object from a version on.
func (w *scopedWorld) since(key, uid string, version uint64) (states []scopedState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.log {
		if s.key == key && s.uid == uid && s.version >= version {
			states = append(states, s)
		}
	}
	return states
}

// in reports whether an object is in one of several scopes.
func (s scopedState) in(scopes []cache.Scope) bool { return slices.ContainsFunc(scopes, s.isIn) }

func (s scopedState) isIn(scope cache.Scope) bool {
	namespace, name, _ := strings.Cut(s.key, "/")
	set := labels.Set{}
	if s.env != "" {
		set["env"] = s.env
	}
	byLabels, err := labels.Parse(scope.LabelSelector)
	if err != nil {
		panic(err)
	}
	byFields := fields.ParseSelectorOrDie(scope.FieldSelector)
	return mayHold(scope, s.identity()) && byLabels.Matches(set) && byFields.Matches(fields.Set{"metadata.name": name, "metadata.namespace": namespace})
}
