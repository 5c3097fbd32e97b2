// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
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
	program    scopedProgram
	world      *scopedWorld
	server     *scopedServer
	network    *scopedNetwork // over which the informer reads; nil if it calls List and Watch
	scopes     *cache.Scopes
	namespaces *scopedNamespaces // that determine the scopes; nil if the program does
	informer   scopedSubject
	began      time.Time
	gate       bool
	resting    bool // no goroutine of the informer works when a step begins
	overtaken  int  // restores whose versions passed those of the informer, since it was made to list

	mu        sync.Mutex // guards the fields below
	delivered map[string]scopedState
	floors    map[string]scopedState // the last state delivered of each key
	dead      map[string]scopedState // the same by UID, of objects whose deletion was delivered
	covers    [][]cache.Scope        // the sets of scopes since the informer last had the state of the server
	removed   []cache.Scope          // the scopes that were removed since then
	leaving   map[string]scopedState // the objects of removed scopes that the informer must remove before it is at rest
	late      []*lateHandler
	restoring bool
	writing   storeWriting
	absence   scopedAbsence
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

// savedScopes is a program of testdata/scopes.json. It found a bug.
type savedScopes struct {
	Bug     string
	Program scopedProgram
}

// TestProgramsOfScopesThatFoundBugs runs the programs of testdata/scopes.json.
func TestProgramsOfScopesThatFoundBugs(t *testing.T) {
	var all []savedScopes
	readJSON(t, "testdata/scopes.json", &all)
	for _, s := range all {
		if s.Program.Writes && !*storeWrites || s.Program.VersionBase != "" && !*largeVersions {
			continue
		}
		t.Run(s.Bug, func(t *testing.T) {
			for range repetitions {
				if x := executeScoped(t, s.Program); x.violation != "" {
					t.Fatalf("%s\n%s", x.violation, strings.Join(x.lines, "\n"))
				}
			}
		})
	}
}

// TestReplayScopes runs the program of scopes in -model.program, as TestScopesFollowModel prints
// it, and prints what happens.
func TestReplayScopes(t *testing.T) {
	if *programFile == "" {
		t.Skip("without -model.program")
	}
	var p scopedProgram
	text, err := os.ReadFile(*programFile)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Family == "" {
		t.Fatalf("family %q: %v", p.Family, err)
	}
	x := executeScoped(t, p)
	t.Log("\n" + strings.Join(x.lines, "\n"))
	if x.violation != "" {
		t.Fatal(x.violation)
	}
}

func executeScoped(t *testing.T, p scopedProgram) *scopedExecution {
	t.Helper()
	x := &scopedExecution{
		program: p, gate: p.Gate, scopes: cache.NewScopes(),
		writing:   storeWriting{touched: make(map[string]bool), own: make(map[int]*ownedObject)},
		delivered: make(map[string]scopedState), floors: make(map[string]scopedState), dead: make(map[string]scopedState),
		leaving: make(map[string]scopedState),
	}
	hung := time.AfterFunc(patience, func() { panic("this program hangs: " + p.String()) })
	defer hung.Stop()
	defer useVersionBase(p.VersionBase)()
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
	x.server = &scopedServer{scopedCollection: scopedCollection{fake.NewListerWatcher(&corev1.ConfigMap{})}, note: x.note, healed: make(chan struct{})}
	x.server.availability = newAvailability(x.program.Served, x.program.Pending)
	x.absence.possible = x.program.Pending
	x.server.BookmarkEvery(time.Minute)
	x.server.SetShardedListAndWatch(x.gate)
	x.world = &scopedWorld{server: x.server, floor: parseVersion(x.server.ResourceVersion())}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	if x.program.Family == selectedNamespaces {
		x.startNamespaces(ctx, t)
	} else {
		x.changeScopes(x.scopes.Add, scopedStep{Op: opScopesAdd, Scopes: x.program.Start})
	}
	x.informer = x.newSubject()
	if err := x.informer.add(x.record); err != nil {
		t.Error(err)
	}
	steps := append(slices.Clone(x.program.Steps), scopedStep{Op: opQuiesce})
	if x.program.Early {
		steps = x.writesEarly(steps)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- x.informer.Run(ctx) }()
	for _, s := range steps {
		if x.violation != "" {
			break
		}
		x.step(s)
	}
	cancel()
	x.unblockLate()
	x.server.heal()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if x.namespaces != nil {
		if err := <-x.namespaces.stopped; err != nil {
			t.Error(err)
		}
	}
	if x.network != nil {
		x.network.stop()
	}
}

// step executes a step, and checks what holds at any time.
func (x *scopedExecution) step(s scopedStep) {
	x.note("%v", s)
	x.execute(s)
	if x.resting = !s.NoWait; s.NoWait {
		return
	}
	synctest.Wait()
	x.check()
	if x.unsettled() == "" { // no scope lags behind
		x.mu.Lock()
		defer x.mu.Unlock()
		x.covers, x.removed = [][]cache.Scope{x.scopes.All()}, nil
		x.noteServed()
	}
}

func (x *scopedExecution) execute(s scopedStep) {
	switch s.Op {
	case opPut, opRecreate:
		if !x.world.canHold(s.Key) {
			return
		}
		if s.Op == opRecreate {
			x.world.remove(s.Key)
		}
		x.world.put(s.Key, s.Env, s.Bad)
	case opDelete:
		x.world.remove(s.Key)
	case opAdd:
		x.addLate(s.N == 1)
	case opUnblock:
		x.unblockLate()
	case opAdvance:
		<-time.After(s.For)
	case opScopesAdd:
		x.changeScopes(x.scopes.Add, s)
	case opScopesRemove:
		x.changeScopes(x.scopes.Remove, s)
	case opScopesSet:
		x.changeScopes(x.scopes.Set, s)
	case opWrite, opErase, opReplace:
		x.writeStore(s)
	case opSelectNamespace, opIgnoreNamespace, opDeleteNamespace:
		x.changeNamespace(s)
	case opUnserve, opUndefine, opDefine, opVerdict:
		x.changeServed(s)
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
	case opTruncate:
		x.server.TruncateWatchCache()
	case opLag:
		x.server.lag(s.Lane)
	case opCatchUp:
		x.server.catchUp(s.Lane)
	case opFailList:
		x.server.failLists(s.Lane, scopedFault{s.Fault, s.N})
	case opFailWatch:
		x.server.failWatches(s.Lane, scopedFault{s.Fault, s.N})
	case opMisbehave:
		x.server.misbehave(s.Lane, s.Fault)
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
		x.restore(s)
	}
}

// addLate adds a handler, whose first call may block.
func (x *scopedExecution) addLate(blocks bool) {
	late := &lateHandler{delivered: make(map[string]scopedState)}
	if blocks {
		late.release = make(chan struct{})
	}
	x.mu.Lock()
	x.late = append(x.late, late)
	x.mu.Unlock()
	if err := x.informer.add(x.recordLate(late)); err != nil {
		x.fail("handler", "%v", err)
	}
}

// changeScopes changes the set of scopes. Scopes that must not be in one set are an error, which
// changes nothing. Handlers wait meanwhile.
func (x *scopedExecution) changeScopes(change func(...cache.Scope) error, step scopedStep) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.scopes.All()
	err := change(x.program.scopesOf(step.Scopes)...)
	after := x.scopes.All()
	x.noteLocked("scopes %v: %v", after, err)
	if want, permitted := setAfter(before, step.Op, x.program.scopesOf(step.Scopes)); !slices.Equal(after, want) || (err == nil) != permitted {
		x.failLocked("set", "the scopes are %v (%v), want %v (permitted: %v)", after, err, want, permitted)
	}
	x.covers = append(x.covers, after)
	gone := slices.DeleteFunc(slices.Clone(before), func(scope cache.Scope) bool { return slices.Contains(after, scope) })
	x.removed = append(x.removed, gone...)
	if x.resting {
		for key, s := range x.delivered {
			if scope, held := x.scopeOf(before, s); held && slices.Contains(gone, scope) {
				x.leaving[key] = s
			}
		}
	}
	x.change(gone...)
}

// restore restores the server from a backup, and waits until the informer has noticed. Versions
// that pass those of the informer are noticed by a 410, or by the last changes of each stream.
func (x *scopedExecution) restore(s scopedStep) {
	x.server.heal()
	x.serveAgain()
	synctest.Wait()
	if len(x.informer.ScopeStatus()) > len(x.scopes.All()) || x.hasTouched() {
		x.quiesce() // the scope of a deleted namespace would wait for deletions that are undone
	}
	how := s.Overtake
	if (how == overtakeLive || how == overtakeRestarted) && !x.fillJournals() {
		how = ""
	}
	if how == overtakeExpired && len(x.scopes.All()) > 1 {
		x.relistJoined()
	}
	if how != "" {
		x.overtaken++
	}
	x.setRestoring(true)
	if how == "" {
		x.world.restore(s.N)
	} else {
		x.world.restoreAndOvertake(s.N, how, s.Pattern)
	}
	x.settle(x.differs, func() { <-time.After(time.Minute) }) // a server beyond the informer's version cannot be recognized
	x.setRestoring(false)
}

// fillJournals writes to an object of each scope, so that each stream has received a change by a
// watch, which the server must repeat. It reports whether that was possible, and whether the
// informer still asks for it: package clientgo does only if it streams. After two lists in a row
// that other histories have caused and that may have shown no difference, another list is due
// before.
func (x *scopedExecution) fillJournals() bool {
	x.awaitJoins()
	if x.overtaken == 2 {
		x.relist()
		x.overtaken = 0
	}
	x.quiesce()
	if x.program.Adapter && x.network == nil {
		return false
	}
	lists := x.server.lists.count()
	for _, scope := range x.scopes.All() {
		if !x.world.writeIn(scope) {
			return false
		}
	}
	synctest.Wait()
	return x.unsettled() == "" && x.server.lists.count() == lists
}

// relistJoined lets the informer list all scopes by the watches that it keeps. One that has joined
// others knows only the states that it has received or listed itself, not those of the others: if
// the server assigns their versions to other states and no longer has the watch's version, the list
// takes these states as unchanged.
func (x *scopedExecution) relistJoined() {
	x.quiesce()
	x.relist()
	x.quiesce()
}

// awaitJoins lets watches of ranges be joined. A joined watch does not ask for the changes that
// only those before have received.
func (x *scopedExecution) awaitJoins() {
	if !slices.ContainsFunc(x.scopes.All(), func(s cache.Scope) bool { return s.Hash.Field != "" }) {
		return
	}
	x.quiesce()
	<-time.After(15 * time.Second)
	x.server.Bookmark()
	synctest.Wait()
}

func (x *scopedExecution) setRestoring(restoring bool) {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.restoring = restoring
	clear(x.dead)
	x.resetFloors()
}

// resetFloors sets the floors to the states that were delivered last. The caller holds mu.
func (x *scopedExecution) resetFloors() {
	clear(x.floors)
	for key, s := range x.delivered {
		if x.world.has(s) { // not a state that was undone, and kept as the present one cannot be stored
			x.floors[key] = s
		}
	}
}

// settlingTime is longer than it takes until an informer has the state of a server without faults.
const settlingTime = healing + confirming

// quiesce ends all faults, and waits until the store is equal to the server.
func (x *scopedExecution) quiesce() {
	x.unblockLate()
	x.server.heal()
	x.serveAgain()
	differs := x.unsettled
	if x.hasTouched() {
		x.relist()
		differs = func() string {
			if why := x.unsettled(); why != "" {
				return why
			}
			stored := x.stored()
			return x.differsFrom(withChangedCopies(x.expected(), stored), stored)
		}
	}
	waits := 0
	x.settle(differs, func() {
		x.server.SkipVersions(1) // other collections change
		<-time.After(time.Minute)
		x.server.Bookmark()
		if waits++; x.hasTouched() && waits%10 == 0 { // a bookmark may have come before the watches were closed
			x.relist()
		}
	})
	x.untouch()
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
	for key, obj := range x.informer.objects() {
		objects[key] = scopedStateOf(obj)
	}
	return objects
}

// unsettled returns how the informer differs from one that has the state of the server, or "".
func (x *scopedExecution) unsettled() string {
	if why := cmp.Or(x.misses(), x.differs()); why != "" {
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
	if why := x.differsFrom(x.withoutTouched(x.expected(), x.stored())); why != "" {
		return why
	}
	held, statuses := x.scopes.All(), x.informer.ScopeStatus()
	for _, status := range statuses {
		if !slices.Contains(held, status.Scope) || !status.Synced || status.Err != nil || status.Freshness.ResourceVersion != x.server.ResourceVersion() {
			return fmt.Sprintf("the server is at %s, status %+v", x.server.ResourceVersion(), status)
		}
	}
	if len(statuses) != len(held) {
		return fmt.Sprintf("%d statuses of %d scopes", len(statuses), len(held))
	}
	return ""
}

// differsFrom returns how the objects in the store differ from the expected ones, or "".
func (x *scopedExecution) differsFrom(expected, stored map[string]scopedState) string {
	if got, want := withoutUnstorable(stored, expected); !maps.Equal(got, want) {
		return fmt.Sprintf("the store has %v, want %v", got, want)
	}
	return ""
}

// withoutUnstorable removes the objects from both maps whose present state cannot be stored, if the
// store has none of them, or another state of the same object.
func withoutUnstorable(stored, expected map[string]scopedState) (got, want map[string]scopedState) {
	for key, s := range expected {
		if kept, ok := stored[key]; s.isKept() && (!ok || (kept.uid == s.uid || kept.uid == "") && !kept.isKept()) {
			delete(stored, key)
			delete(expected, key)
		}
	}
	return stored, expected
}

// checkIndexes compares the index with the stored objects. The caller holds mu.
func (x *scopedExecution) checkIndexes(stored map[string]scopedState) {
	for _, env := range environments {
		got, err := x.informer.indexKeys(env)
		want := slices.DeleteFunc(sortedKeys(stored), func(key string) bool { return stored[key].env != env || stored[key].bad == badIndex })
		if x.mayRefuse(err) {
			continue
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			x.failLocked("index", "env %q has %v, want %v: %v", env, got, want, err)
		}
	}
}

// check checks what holds whenever the informer is at rest.
func (x *scopedExecution) check() {
	x.mu.Lock()
	defer x.mu.Unlock()
	stored := make(map[string]scopedState)
	for key, obj := range x.informer.objects() {
		stored[key] = scopedStateOf(obj)
		x.checkIntact(obj)
	}
	if !x.isDelivered(stored, x.delivered) {
		x.failLocked("fold", "the events add up to %v, the store has %v", x.delivered, stored)
	}
	for _, late := range x.late {
		if late.release == nil && !x.isDelivered(stored, late.delivered) {
			x.failLocked("fold", "the events of a late handler add up to %v, the store has %v", late.delivered, stored)
		}
	}
	x.checkIndexes(stored)
	x.checkAbsence(stored)
	x.checkLeft(stored)
	x.rest()
	x.checkCounts(stored)
	for key, s := range x.leaving {
		x.failLocked("left scope", "%v is in the store although its scope was removed: %v", s, stored[key])
	}
	lowest, synced := "", true
	for _, status := range x.informer.ScopeStatus() {
		synced = synced && status.Synced
		if status.Synced && (lowest == "" || parseVersion(status.Freshness.ResourceVersion) < parseVersion(lowest)) {
			lowest = status.Freshness.ResourceVersion
		}
	}
	if got := x.informer.version(); got != lowest && x.informer.HasSynced() {
		x.failLocked("version", "the store is at %q, the oldest scope at %q", got, lowest)
	}
}

// isDelivered reports whether a handler has received the objects in the store. Of a scope that was
// not listed, which has what the program has written, it may have received nothing, or what another
// scope had under the same key. The caller holds mu.
func (x *scopedExecution) isDelivered(stored, delivered map[string]scopedState) bool {
	var held []cache.Scope
	unlisted := make(map[cache.Scope]bool)
	for _, status := range x.informer.ScopeStatus() {
		held = append(held, status.Scope)
		unlisted[status.Scope] = !status.Synced
	}
	stored, delivered = maps.Clone(stored), maps.Clone(delivered)
	for key, s := range stored {
		if scope, found := x.scopeOf(held, s); found && unlisted[scope] {
			delete(stored, key)
			delete(delivered, key)
		}
	}
	return maps.Equal(stored, delivered)
}

// checkCounts checks that each object in the store belongs to one scope. The caller holds mu.
func (x *scopedExecution) checkCounts(stored map[string]scopedState) {
	want := make(map[cache.Scope]int)
	var held []cache.Scope
	for _, status := range x.informer.ScopeStatus() {
		held = append(held, status.Scope)
	}
	for _, s := range stored {
		scope, found := x.scopeOf(held, s)
		if !found {
			x.failLocked("count", "the store has %v, which is not in one of %v", s, held)
		}
		want[scope]++
	}
	for _, status := range x.informer.ScopeStatus() {
		if status.Store.Objects != want[status.Scope] {
			x.failLocked("count", "the scope %v has %d objects, want %d", status.Scope, status.Store.Objects, want[status.Scope])
		}
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
