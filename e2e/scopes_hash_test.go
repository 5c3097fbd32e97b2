// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// hashRanges returns scopes of UIDs. Each pair of limits, in 64ths of all hashes, is a scope.
func hashRanges(limits ...uint64) (scopes []cache.Scope) {
	for pair := range slices.Chunk(limits, 2) {
		scopes = append(scopes, cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: pair[0] << 58, Last: pair[1]<<58 - 1}})
	}
	return scopes
}

// inTwoEighths reports whether two UIDs are in two eighths of all hashes. The scope that is always
// held is one of them.
func inTwoEighths(a, b types.UID) bool { return fnv64a(string(a))>>61 != fnv64a(string(b))>>61 }

// inScopes reports whether a UID is in ranges of hashes.
func inScopes(scopes []cache.Scope, uid types.UID) bool {
	hash := fnv64a(string(uid))
	return slices.ContainsFunc(scopes, func(s cache.Scope) bool { return s.Hash.First <= hash && hash <= s.Hash.Last })
}

// scopeStep changes the scopes of an informer.
type scopeStep struct {
	name   string
	change func(*cache.Scopes) error
	want   []cache.Scope
	// watches is how many watches may then be open, if the server filters by shard selector.
	watches int
}

// changesPerStep is how many changes are made at least while a step is taken and after it.
const changesPerStep = 200

// alwaysHeld are the ranges that each step keeps.
func alwaysHeld() []cache.Scope { return hashRanges(0, 8) }

// scopeSteps are steps that add ranges, remove them, and replace others by parts of them or by a
// range that has them all.
func scopeSteps() []scopeStep {
	add := func(scopes ...cache.Scope) func(*cache.Scopes) error {
		return func(s *cache.Scopes) error { return s.Add(scopes...) }
	}
	remove := func(scopes ...cache.Scope) func(*cache.Scopes) error {
		return func(s *cache.Scopes) error { return s.Remove(scopes...) }
	}
	set := func(scopes ...cache.Scope) func(*cache.Scopes) error {
		return func(s *cache.Scopes) error { return s.Set(scopes...) }
	}
	var spread []uint64 // 18 ranges with gaps between them: more than a request may have
	for n := range uint64(18) {
		spread = append(spread, 24+2*n, 25+2*n)
	}
	apart := append(alwaysHeld(), hashRanges(spread...)...)
	return []scopeStep{
		{"nothing", add(), alwaysHeld(), 1},
		{"add neighbours and others", add(hashRanges(8, 24, 40, 64)...), hashRanges(0, 8, 8, 24, 40, 64), 1},
		{"remove a neighbour", remove(hashRanges(8, 24)...), hashRanges(0, 8, 40, 64), 1},
		{"add it again", add(hashRanges(8, 24)...), hashRanges(0, 8, 40, 64, 8, 24), 1},
		{"divide and move", set(hashRanges(0, 8, 8, 16, 16, 48)...), hashRanges(0, 8, 8, 16, 16, 48), 1},
		{"unite", set(hashRanges(0, 8, 8, 64)...), hashRanges(0, 8, 8, 64), 1},
		{"leave many parts", set(apart...), apart, 2},
		{"keep one", set(alwaysHeld()...), alwaysHeld(), 1},
	}
}

// TestScopesOfHashes runs informers over ranges of hashes of 20,000 ConfigMaps, with a server that
// filters by shard selector, one that does not, and both in turn. The ConfigMaps change all the
// time, and are deleted and recreated, while ranges are added, removed and replaced by others.
func TestScopesOfHashes(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	configMaps := newConfigMapCollection(t, servers.cluster, 10, 20_000)
	configMaps.putAll(t)
	scopes := cache.NewScopes(alwaysHeld()...)
	run := func(name string, configure func(*rest.Config)) *scopedSubject {
		return startScoped(t, name, servers.cluster, &corev1.ConfigMap{}, configMaps.list, scopes, configure)
	}
	h := hashHarness{
		writer: configMaps.writer, scopes: scopes,
		filtered:   run("gate on", servers.useOn),
		unfiltered: run("gate off", func(*rest.Config) {}),
		mixed:      run("gate on and off", servers.alternator(t).configure),
	}
	configMaps.pace(200)
	configMaps.focus(20)
	h.run(t)
	want := maps.Collect(h.held(configMaps.truth(t)))
	for _, s := range h.subjects() {
		s.expectSettled(t, want)
	}
}

// TestScopesOfHashesOfCustomResources is TestScopesOfHashes for a few custom resources, which show
// no shardInfo.
func TestScopesOfHashesOfCustomResources(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	ns := namespace(t, clientsetFor(t, servers.cluster))
	client := dynamic.NewForConfigOrDie(servers.off)
	widgets := defineWidgets(t, client, ns+".example.com")
	await(t, "both servers serve the custom resource", func(ctx context.Context) error {
		_, err := dynamic.NewForConfigOrDie(servers.on).Resource(widgets).List(ctx, metav1.ListOptions{})
		return err
	})
	w := newWriter(widgetAuthor{client.Resource(widgets).Namespace(ns), widgets.GroupVersion().String()}, 200)
	w.fill(t)
	scopes := cache.NewScopes(alwaysHeld()...)
	h := hashHarness{writer: w, scopes: scopes, filtered: startScoped(t, "gate on", servers.cluster, &unstructured.Unstructured{},
		widgetsOf(widgets, ns), scopes, servers.useOn)}
	w.pace(100)
	w.focus(5)
	h.run(t)
}

func widgetsOf(resource schema.GroupVersionResource, ns string) listWatchFunc {
	return func(t *testing.T, config *rest.Config) cache.ListerWatcher {
		t.Helper()
		return cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(ns))
	}
}

// useOn makes a client use the server with the feature gate.
func (s shardServers) useOn(config *rest.Config) { config.Host = s.on.Host }

// hashHarness is informers over the same ranges of hashes, and a writer.
type hashHarness struct {
	writer *writer
	scopes *cache.Scopes
	// The informers' servers filter by shard selector, do not, and do now and then. All but
	// filtered may be nil.
	filtered, unfiltered, mixed *scopedSubject
}

func (h hashHarness) subjects() []*scopedSubject {
	all := []*scopedSubject{h.filtered, h.unfiltered, h.mixed}
	return slices.DeleteFunc(all, func(s *scopedSubject) bool { return s == nil })
}

// run takes each step while the writer writes. After each, the writer stops, and the informers must
// have exactly the objects of their scopes.
func (h hashHarness) run(t *testing.T) {
	t.Helper()
	for _, step := range scopeSteps() {
		began := time.Now()
		h.take(t, step)
		_, changes := h.writer.ledger.size()
		t.Logf("%s: %d changes so far, took %s", step.name, changes, time.Since(began).Round(time.Millisecond))
	}
	for _, s := range h.subjects() {
		s.expectHistory(t, h.writer.ledger, func(_ string, uid types.UID) bool { return inScopes(alwaysHeld(), uid) }, inTwoEighths)
		s.check(t)
		for _, err := range s.errors.list() {
			t.Errorf("%s: error %v", s.name, err)
		}
	}
	h.expectForeign(t)
	if h.mixed != nil && len(h.mixed.requests.watchedServers()) != 2 {
		t.Errorf("%s: the watches are %v, want some of each server", h.mixed.name, h.mixed.requests.watchedServers())
	}
}

func (h hashHarness) take(t *testing.T, step scopeStep) {
	t.Helper()
	stop := h.writer.start(t)
	defer stop()
	_, changes := h.writer.ledger.size()
	removed := slices.DeleteFunc(h.scopes.All(), func(s cache.Scope) bool { return slices.Contains(step.want, s) })
	for _, s := range h.subjects() {
		s.scopes.allow(step.name, func(_ string, uid types.UID) bool { return inScopes(removed, uid) })
	}
	if err := step.change(h.scopes); err != nil {
		t.Fatalf("%s: %v", step.name, err)
	}
	if got := h.scopes.All(); !slices.Equal(got, step.want) {
		t.Fatalf("%s: the scopes are %v, want %v", step.name, got, step.want)
	}
	for _, s := range h.subjects() {
		watches := step.watches
		if s == h.unfiltered {
			watches = 1
		}
		await(t, step.name+": "+s.name, func(ctx context.Context) error { return s.atRest(ctx, step.want, watches) })
	}
	h.writer.awaitChanges(t, changes+changesPerStep)
	stop()
	want := maps.Collect(h.held(h.writer.ledger.current()))
	for _, s := range h.subjects() {
		s.expectObjects(t, want)
		s.scopes.allow("after "+step.name, nil)
	}
}

// held returns the objects that are in the scopes.
func (h hashHarness) held(all map[string]state) func(func(string, state) bool) {
	scopes := h.scopes.All()
	return func(yield func(string, state) bool) {
		for key, s := range all {
			if inScopes(scopes, s.uid) && !yield(key, s) {
				return
			}
		}
	}
}

var errNotAtRest = errors.New("not at rest")

// atRest returns an error unless the informer has the scopes and no others, all of them have been
// listed, and no more watches than these are open.
func (s *scopedSubject) atRest(ctx context.Context, scopes []cache.Scope, watches int) error {
	for _, scope := range scopes {
		if err := s.synced(ctx, scope); err != nil {
			return err
		}
	}
	if now := s.status(); len(now) != len(scopes) {
		return fmt.Errorf("%w: %d scopes, want %d", errNotAtRest, len(now), len(scopes))
	}
	if open := s.requests.openWatches(); len(open) == 0 || len(open) > watches {
		return fmt.Errorf("%w: %d watches are open, want %d: %q", errNotAtRest, len(open), watches, open)
	}
	return nil
}

// expectForeign checks that the Status distinguishes a server that filters from one that does not.
func (h hashHarness) expectForeign(t *testing.T) {
	t.Helper()
	for _, s := range h.subjects() {
		outOfScope := uint64(0)
		for _, status := range s.status() {
			outOfScope += status.OutOfScope
		}
		if filtered := s == h.filtered; filtered && outOfScope > 0 || s == h.unfiltered && outOfScope == 0 {
			t.Errorf("%s: %d objects out of scope, want some: %v", s.name, outOfScope, !filtered)
		}
		t.Logf("%s: %d objects out of scope", s.name, outOfScope)
	}
}
