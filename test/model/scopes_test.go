// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// scopedExecution is one run of a scopedProgram.
type scopedExecution struct {
	program  scopedProgram
	world    *scopedWorld
	server   *scopedServer
	scopes   *cache.Scopes
	informer *cache.SharedInformer[*corev1.ConfigMap]
	began    time.Time
	gate     bool

	mu        sync.Mutex // guards the fields below
	delivered map[string]scopedState
	floors    map[string]scopedState // the last state delivered of each key
	dead      map[string]scopedState // the same by UID, of objects whose deletion was delivered
	covers    [][]cache.Scope        // the sets of scopes since the informer last had the state of the server
	removed   []cache.Scope          // all scopes that have ever been removed
	restoring bool
	violation string
	lines     []string
}

// TestScopesFollowModel runs random programs for an informer over scopes.
func TestScopesFollowModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawScoped(r)
		x := executeScoped(t, p)
		if x.violation != "" {
			r.Fatalf("%s\n%v\n%s", x.violation, p, strings.Join(x.lines, "\n"))
		}
	})
}

func executeScoped(t *testing.T, p scopedProgram) *scopedExecution {
	t.Helper()
	x := &scopedExecution{
		program: p, gate: p.Gate, scopes: cache.NewScopes(),
		delivered: make(map[string]scopedState), floors: make(map[string]scopedState), dead: make(map[string]scopedState),
	}
	hung := time.AfterFunc(patience, func() { panic("this program hangs: " + p.String()) })
	defer hung.Stop()
	synctest.Test(t, func(t *testing.T) {
		seedJitter()
		x.run(t)
	})
	return x
}

// run runs the program in a bubble.
func (x *scopedExecution) run(t *testing.T) {
	t.Helper()
	x.began = time.Now()
	x.server = &scopedServer{ListerWatcher: fake.NewListerWatcher(&corev1.ConfigMap{}), note: x.note}
	x.server.BookmarkEvery(time.Minute)
	x.server.SetShardedListAndWatch(x.gate)
	x.world = &scopedWorld{server: x.server, floor: parseVersion(x.server.ResourceVersion())}
	x.changeScopes(x.scopes.Add, scopedStep{Op: opScopesAdd, Scopes: x.program.Start})
	options := cache.InformerOptions[*corev1.ConfigMap]{Scopes: x.scopes, Packed: x.program.Packed, Logger: logr.Discard()}
	if x.program.Filter {
		options.Filter = func(obj *corev1.ConfigMap) bool { return x.passes(scopedStateOf(obj)) }
	}
	x.informer = cache.NewSharedInformer(cache.ListerWatcher(x.server), &corev1.ConfigMap{}, options)
	if _, err := x.informer.AddBatchHandler(x.record, cache.HandlerOptions{}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	stopped := make(chan error, 1)
	go func() { stopped <- x.informer.Run(ctx) }()
	for _, s := range append(slices.Clone(x.program.Steps), scopedStep{Op: opQuiesce}) {
		if x.violation != "" {
			break
		}
		x.step(s)
	}
	cancel()
	x.server.heal()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// step executes a step, and checks what holds at any time.
func (x *scopedExecution) step(s scopedStep) {
	x.note("%v", s)
	x.execute(s)
	if s.NoWait {
		return
	}
	synctest.Wait()
	x.check()
	if x.unsettled() == "" { // no scope lags behind
		x.mu.Lock()
		defer x.mu.Unlock()
		x.covers = [][]cache.Scope{x.scopes.All()}
	}
}

func (x *scopedExecution) execute(s scopedStep) {
	switch s.Op {
	case opPut:
		x.world.put(s.Key, s.Env)
	case opDelete:
		x.world.remove(s.Key)
	case opRecreate:
		x.world.remove(s.Key)
		x.world.put(s.Key, s.Env)
	case opAdvance:
		<-time.After(s.For)
	case opScopesAdd:
		x.changeScopes(x.scopes.Add, s)
	case opScopesRemove:
		x.changeScopes(x.scopes.Remove, s)
	case opScopesSet:
		x.changeScopes(x.scopes.Set, s)
	case opQuiesce:
		x.quiesce()
	default:
		x.executeOnServer(s)
	}
}

func (x *scopedExecution) executeOnServer(s scopedStep) {
	switch s.Op {
	case opClose:
		x.server.closeLane(s.Lane)
	case opCompact:
		x.world.compact()
	case opLag:
		x.server.lag(s.Lane)
	case opCatchUp:
		x.server.catchUp(s.Lane)
	case opFailList:
		x.server.fail(s.Lane, s.N, 0)
	case opFailWatch:
		x.server.fail(s.Lane, 0, s.N)
	case opGate:
		x.gate = !x.gate
		x.server.SetShardedListAndWatch(x.gate)
	case opBookmark:
		x.server.Bookmark()
	case opSkip:
		x.server.SkipVersions(uint64(s.N))
	case opHeal:
		x.server.heal()
	case opRestore:
		x.restore(s.N)
	}
}

// changeScopes changes the set of scopes. Scopes that overlap are an error, which changes nothing.
// Handlers wait meanwhile.
func (x *scopedExecution) changeScopes(change func(...cache.Scope) error, step scopedStep) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.scopes.All()
	err := change(x.program.scopesOf(step.Scopes)...)
	after := x.scopes.All()
	x.noteLocked("scopes %v: %v", after, err)
	x.covers = append(x.covers, after)
	gone := slices.DeleteFunc(before, func(scope cache.Scope) bool { return slices.Contains(after, scope) })
	x.removed = append(x.removed, gone...)
}

// restore restores the server from a backup, and waits until the informer has noticed.
func (x *scopedExecution) restore(n int) {
	x.server.heal()
	synctest.Wait()
	if len(x.informer.ScopeStatus()) > len(x.scopes.All()) { // one that was replaced would wait for a version that is undone
		x.quiesce()
	}
	x.setRestoring(true)
	x.world.restore(n)
	x.settle(x.differs, func() { <-time.After(time.Minute) }) // a server beyond the informer's version cannot be recognized
	x.setRestoring(false)
}

func (x *scopedExecution) setRestoring(restoring bool) {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.restoring = restoring
	clear(x.dead)
	clear(x.floors)
	maps.Copy(x.floors, x.delivered)
}

// settlingTime is longer than it takes until an informer has the state of a server without faults.
const settlingTime = 40 * time.Minute

// quiesce ends all faults, and waits until the store is equal to the server.
func (x *scopedExecution) quiesce() {
	x.server.heal()
	x.settle(x.unsettled, func() {
		x.server.SkipVersions(1) // other collections change
		<-time.After(time.Minute)
		x.server.Bookmark()
	})
}

// settle waits until nothing differs any more.
func (x *scopedExecution) settle(differs func() string, wait func()) {
	deadline := time.Now().Add(settlingTime)
	for {
		synctest.Wait()
		why := differs()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			x.fail("convergence", "%s", why)
			return
		}
		wait()
	}
}

// stored returns the states of the objects in the store.
func (x *scopedExecution) stored() map[string]scopedState {
	objects := make(map[string]scopedState)
	for key, obj := range x.informer.Store().All() {
		objects[key] = scopedStateOf(obj)
	}
	return objects
}

// unsettled returns how the informer differs from one that has the state of the server, or "".
func (x *scopedExecution) unsettled() string {
	if why := x.differs(); why != "" {
		return why
	}
	groups := make(map[cache.Scope]bool)
	for _, scope := range x.scopes.All() {
		scope.Hash.First, scope.Hash.Last = 0, 0
		groups[scope] = true
	}
	if open := x.server.OpenWatches(); open != len(groups) {
		return fmt.Sprintf("%d watches are open for %d groups of scopes", open, len(groups))
	}
	return ""
}

// differs returns how the store and the status of the scopes differ from the server, or "".
func (x *scopedExecution) differs() string {
	if got, want := x.stored(), x.expected(); !maps.Equal(got, want) {
		return fmt.Sprintf("the store has %v, want %v", got, want)
	}
	held, statuses := x.scopes.All(), x.informer.ScopeStatus()
	for _, status := range statuses {
		if !slices.Contains(held, status.Scope) || !status.Synced || status.Err != nil || status.ResourceVersion != x.server.ResourceVersion() {
			return fmt.Sprintf("the server is at %s, status %+v", x.server.ResourceVersion(), status)
		}
	}
	if len(statuses) != len(held) {
		return fmt.Sprintf("%d statuses of %d scopes", len(statuses), len(held))
	}
	return ""
}

// check checks what holds whenever the informer is at rest.
func (x *scopedExecution) check() {
	x.mu.Lock()
	defer x.mu.Unlock()
	stored := x.stored()
	if !maps.Equal(stored, x.delivered) {
		x.failLocked("fold", "the events add up to %v, the store has %v", x.delivered, stored)
	}
	lowest, objects, synced := "", 0, true
	for _, status := range x.informer.ScopeStatus() {
		objects += status.Objects
		synced = synced && status.Synced
		if status.Synced && (lowest == "" || parseVersion(status.ResourceVersion) < parseVersion(lowest)) {
			lowest = status.ResourceVersion
		}
	}
	if objects > len(stored) { // there may be more: an entry whose deletion waits outlives its scope
		x.failLocked("count", "the scopes have %d objects, the store %d", objects, len(stored))
	}
	if got := x.informer.Store().Snapshot().ResourceVersion(); got != lowest && x.informer.HasSynced() {
		x.failLocked("version", "the store is at %q, the stalest scope at %q", got, lowest)
	}
}

func (x *scopedExecution) fail(invariant, format string, arguments ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failLocked(invariant, format, arguments...)
}

// failLocked records the first violation. The caller holds mu.
func (x *scopedExecution) failLocked(invariant, format string, arguments ...any) {
	x.noteLocked("VIOLATION of "+invariant+": "+format, arguments...)
	if x.violation == "" {
		x.violation = invariant + ": " + fmt.Sprintf(format, arguments...)
	}
}

func (x *scopedExecution) note(format string, arguments ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.noteLocked(format, arguments...)
}

func (x *scopedExecution) noteLocked(format string, arguments ...any) {
	x.lines = append(x.lines, fmt.Sprintf("%12v  ", time.Since(x.began))+fmt.Sprintf(format, arguments...))
}
