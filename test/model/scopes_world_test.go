// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinformer/kinformer/cache"
)

// scopedState is a state of an object, or its deletion.
type scopedState struct {
	key, uid string
	version  uint64
	env      string
	value    int // of the n-th write
	deleted  bool
}

func (s scopedState) String() string {
	if s.deleted {
		return fmt.Sprintf("%s/%s deleted at %d", s.key, s.uid, s.version)
	}
	return fmt.Sprintf("%s/%s@%d env=%s", s.key, s.uid, s.version, s.env)
}

// scopedStateOf returns the state of a ConfigMap.
func scopedStateOf(obj *corev1.ConfigMap) scopedState {
	value, err := strconv.Atoi(obj.Data["value"])
	if err != nil {
		panic(err)
	}
	return scopedState{
		key: obj.Namespace + "/" + obj.Name, uid: string(obj.UID), version: parseVersion(obj.ResourceVersion), env: obj.Labels["env"], value: value,
	}
}

// scopedWorld is the history of a collection.
type scopedWorld struct {
	server *scopedServer

	mu     sync.Mutex    // guards the fields below
	log    []scopedState // in the order of the versions
	floor  uint64        // the collection cannot be restored to an earlier version
	writes int
}

func (w *scopedWorld) object(key, env string) *corev1.ConfigMap {
	namespace, name, _ := strings.Cut(key, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"value": strconv.Itoa(w.writes)},
	}
	if env != "" {
		obj.Labels = map[string]string{"env": env}
	}
	return obj
}

// put creates or updates an object. The history has the state before an informer can see it.
func (w *scopedWorld) put(key, env string) {
	obj := w.object(key, env)
	w.write(func() scopedState {
		if _, exists := w.server.Get(key); exists {
			return scopedStateOf(w.server.Update(obj))
		}
		return scopedStateOf(w.server.Create(obj))
	})
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

// restore undoes up to n changes.
func (w *scopedWorld) restore(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version := w.floor
	for len(w.log) > 0 && w.log[len(w.log)-1].version > w.floor {
		if n == 0 {
			version = w.log[len(w.log)-1].version
			break
		}
		n--
		w.log = w.log[:len(w.log)-1]
	}
	w.server.Restore(formatVersion(version))
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
func (s scopedState) in(scopes []cache.Scope) bool {
	for _, scope := range scopes {
		if s.isIn(scope) {
			return true
		}
	}
	return false
}

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
	hashed := s.uid
	if scope.Hash.Field == cache.HashNamespace {
		hashed = namespace
	}
	hash, err := strconv.ParseUint(sharding.HashField(hashed), 16, 64)
	if err != nil {
		panic(err)
	}
	return (scope.Namespace == "" || scope.Namespace == namespace) && byLabels.Matches(set) &&
		byFields.Matches(fields.Set{"metadata.name": name, "metadata.namespace": namespace}) &&
		(scope.Hash.Field == "" || scope.Hash.First <= hash && hash <= scope.Hash.Last)
}
