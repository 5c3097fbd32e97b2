// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// scopedSubject is a running informer over scopes.
type scopedSubject struct {
	*subject
	scopes *scopeRecorder
	status func() []cache.ScopeStatus
	synced func(context.Context, cache.Scope) error // waits for a scope
}

// startScoped starts an informer over scopes, which is stopped, and checked for leaks, at the end
// of the test.
func startScoped[T cache.Object](t *testing.T, name string, c *cluster.Cluster, example T, list listWatchFunc, scopes *cache.Scopes,
	configure ...func(*rest.Config)) *scopedSubject {
	t.Helper()
	s := newSubject("informer over scopes, "+name, true, c)
	informer := cache.NewSharedInformer(list(t, s.connect(c, configure...)), example, cache.InformerOptions[T]{Scopes: scopes, ErrorHandler: s.errors.add})
	scoped := &scopedSubject{
		subject: s, scopes: &scopeRecorder{states: map[string][]scopedState{}}, status: informer.ScopeStatus,
		synced: func(ctx context.Context, scope cache.Scope) error { return informer.InScope(scope).WaitForSync(ctx) },
	}
	handler := scopedHandler[T]{recordingHandler[T]{s.recorder}, scoped.scopes}
	if _, err := informer.AddEventHandler(handler, cache.HandlerOptions{EveryEvent: true}); err != nil {
		t.Fatal(err)
	}
	s.version, s.content = func() string { return informer.Status().Freshness.ResourceVersion }, contentOf(informer.Store())
	s.start(t, informer.Run)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := informer.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	return scoped
}

// expectObjects waits until the recorded changes and the store show the server's objects. Unlike
// expectSettled it does not check the version, which is that of the oldest scope.
func (s *scopedSubject) expectObjects(t *testing.T, want map[string]state) {
	t.Helper()
	s.awaitState(t, want)
	if got := s.content(); !maps.Equal(got, want) {
		t.Errorf("%s: the store differs from the server:\n%s", s.name, difference(got, want))
	}
	s.check(t)
}

// scopedHandler is a handler of an informer over scopes that records its events.
type scopedHandler[T cache.Object] struct {
	recordingHandler[T]
	scopes *scopeRecorder
}

func (h scopedHandler[T]) OnEvent(event cache.Event[T]) {
	h.recordingHandler.OnEvent(event)
	s := scopedState{state: stateOf(event.Object()), added: event.Type == cache.EventAdd, initial: event.InInitialList, left: event.LeftScope}
	if event.Type == cache.EventDelete {
		s.version = gone
	}
	h.scopes.add(event.Key, s)
}

// scopedState is a state of an object as it was delivered. added is of an addition, initial of one
// in an initial list, and left of a deletion with LeftScope.
type scopedState struct {
	state
	added, initial, left bool
}

// scopeRecorder records what a handler of an informer over scopes received.
type scopeRecorder struct {
	mu         sync.Mutex
	states     map[string][]scopedState // by key
	departures int
	mayDepart  selects // from the scopes that are being removed; nil if none are
	step       string  // that removes them
	violations []string
}

func (r *scopeRecorder) add(key string, s scopedState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[key] = append(r.states[key], s)
	if !s.left {
		return
	}
	r.departures++
	if r.mayDepart == nil || !r.mayDepart(key, s.uid) {
		r.violations = append(r.violations, fmt.Sprintf("%s: %s, %v, hash %016x, has departed from a scope that was not removed", r.step, key, s.uid, fnv64a(string(s.uid))))
	}
}

// selects reports whether an object, by its key and UID, is in some scopes.
type selects func(key string, uid types.UID) bool

// allow sets which objects may depart from now on.
func (r *scopeRecorder) allow(step string, mayDepart selects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.mayDepart = step, mayDepart
}
