// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/cache"
)

// state identifies one state of one object in the history of a cluster.
type state struct {
	uid     types.UID
	version string // or gone
}

// gone is the version that stands for a deletion.
const gone = "gone"

func stateOf(obj metav1.Object) state { return state{obj.GetUID(), obj.GetResourceVersion()} }

// recorder records the changes that a handler received and the resulting objects. It checks each
// change against the contract: only a missing object is added, only an existing one is updated, and
// each state is newer than the one before.
type recorder struct {
	mu         sync.Mutex
	current    map[string]state   // by key: the result of all changes
	states     map[string][]state // by key, in order, without states that have a deletionTimestamp
	initial    int                // number of additions in the initial list
	violations []string           // changes that violate the contract
	mayRegress bool               // versions may decrease, because etcd is restored
	changed    chan struct{}      // closed by the next change
}

func newRecorder() *recorder {
	return &recorder{current: map[string]state{}, states: map[string][]state{}, changed: make(chan struct{})}
}

// allowRegression allows versions to decrease, and extends the timeout of awaitState.
func (r *recorder) allowRegression() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mayRegress = true
}

// added records an addition.
func (r *recorder) added(key string, obj metav1.Object, initial bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.current[key]; ok {
		r.violation("addition of %s at %v, which exists at %v", key, stateOf(obj), old)
	}
	if initial {
		r.initial++
	}
	r.put(key, obj)
}

func (r *recorder) updated(key string, from, to metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.current[key]
	switch {
	case !ok:
		r.violation("update of %s to %v, which does not exist", key, stateOf(to))
	case old != stateOf(from):
		r.violation("update of %s from %v; the last delivered state is %v", key, stateOf(from), old)
	case old.uid != to.GetUID():
		r.violation("update of %s from %v to another object, %v", key, old, stateOf(to))
	case !r.mayFollow(old.version, to.GetResourceVersion()):
		r.violation("update of %s from %v to %v, which is not newer", key, old, stateOf(to))
	}
	r.put(key, to)
}

func (r *recorder) deleted(key string, last metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.current[key]
	switch {
	case !ok:
		r.violation("deletion of %s, which does not exist", key)
	case old.uid != last.GetUID():
		r.violation("deletion of %s as %v; the existing object is %v", key, stateOf(last), old)
	case old.version != last.GetResourceVersion() && !r.mayFollow(old.version, last.GetResourceVersion()):
		r.violation("deletion of %s in the state %v, which is older than %v", key, stateOf(last), old)
	}
	delete(r.current, key)
	r.states[key] = append(r.states[key], state{last.GetUID(), gone})
	r.signal()
}

func (r *recorder) put(key string, obj metav1.Object) {
	r.current[key] = stateOf(obj)
	if obj.GetDeletionTimestamp() == nil {
		r.states[key] = append(r.states[key], stateOf(obj))
	}
	r.signal()
}

// mayFollow reports whether version b may follow version a.
func (r *recorder) mayFollow(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && (order < 0 || r.mayRegress && order != 0)
}

func (r *recorder) violation(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

func (r *recorder) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// snapshot returns the objects after all recorded changes, and a channel that the next change
// closes.
func (r *recorder) snapshot() (map[string]state, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.current), r.changed
}

// history returns the recorded states of a key.
func (r *recorder) history(key string) []state {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states[key])
}

// check fails the test if a change violated the contract.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) > 0 {
		t.Errorf("%d changes violate the contract, the first:\n%s", len(r.violations), strings.Join(r.violations[:min(10, len(r.violations))], "\n"))
	}
}

// awaitState waits until the recorded changes result in want.
func (r *recorder) awaitState(t *testing.T, want map[string]state) {
	t.Helper()
	limit := settleTimeout
	if r.mayRegress {
		limit = restoreTimeout
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		now, changed := r.snapshot()
		if maps.Equal(now, want) {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("after %s the recorded changes do not result in the server's objects:\n%s", limit, difference(now, want))
		}
	}
}

// Timeouts of awaitState.
const (
	// settleTimeout covers the longest backoff and the start of a server.
	settleTimeout = 90 * time.Second
	// restoreTimeout covers a restore of etcd: an idle watch is probed after at most two and a half
	// minutes.
	restoreTimeout = 4 * time.Minute
)

// difference describes how two sets of objects differ, in at most ten lines.
func difference(got, want map[string]state) string {
	var lines []string
	for key, state := range want {
		if got[key] != state {
			lines = append(lines, fmt.Sprintf("%s is %v, want %v", key, got[key], state))
		}
	}
	for key, state := range got {
		if _, ok := want[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s is %v, want none", key, state))
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d objects, want %d; %d differ\n%s", len(got), len(want), len(lines), strings.Join(lines[:min(10, len(lines))], "\n"))
}

// recordingHandler is an informer's handler that records its events.
type recordingHandler[T cache.Object] struct{ *recorder }

func (h recordingHandler[T]) OnEvent(event cache.Event[T]) {
	switch event.Type {
	case cache.EventAdd:
		h.added(event.Key, event.New, event.InInitialList)
	case cache.EventUpdate:
		h.updated(event.Key, event.Old, event.New)
	case cache.EventDelete:
		h.deleted(event.Key, event.Final)
	}
}

// recordingStore is a store that records a reflector's writes as the changes that a handler would
// receive.
type recordingStore[T cache.Object] struct {
	*cache.Store[T]
	*recorder
	replaced int // guarded by recorder.mu
}

func (s *recordingStore[T]) Add(obj T) error    { return s.set(obj, s.Store.Add) }
func (s *recordingStore[T]) Update(obj T) error { return s.set(obj, s.Store.Update) }

func (s *recordingStore[T]) set(obj T, write func(T) error) error {
	old, exists, err := s.Get(obj)
	if err == nil {
		err = write(obj)
	}
	if err == nil {
		s.record(old, exists, obj, false)
	}
	return err
}

// record records a change as an informer delivers it.
func (s *recordingStore[T]) record(old T, exists bool, obj T, initial bool) {
	key := keyOf(obj)
	switch {
	case !exists:
		s.added(key, obj, initial)
	case old.GetUID() == obj.GetUID():
		s.updated(key, old, obj)
	default:
		s.deleted(key, old)
		s.added(key, obj, initial)
	}
}

func (s *recordingStore[T]) Delete(obj T) error {
	err := s.Store.Delete(obj)
	if err == nil {
		s.deleted(keyOf(obj), obj)
	}
	return err
}

func (s *recordingStore[T]) Replace(objs []T, resourceVersion string) error {
	before := s.Snapshot()
	if err := s.Store.Replace(objs, resourceVersion); err != nil {
		return err
	}
	s.mu.Lock()
	s.replaced++
	initial := s.replaced == 1
	s.mu.Unlock()
	kept := map[string]bool{}
	for _, obj := range objs {
		key := keyOf(obj)
		kept[key] = true
		old, exists := before.GetByKey(key)
		if !exists || stateOf(old) != stateOf(obj) {
			s.record(old, exists, obj, initial)
		}
	}
	for key, old := range before.All() {
		if !kept[key] {
			s.deleted(key, old)
		}
	}
	return nil
}

func keyOf(obj metav1.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}
