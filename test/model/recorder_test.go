// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// recorder is a handler of a program. It checks each event.
type recorder struct {
	registration
	run     *execution
	name    string
	spec    handlerSpec
	release chan struct{} // closed to end the calls that block

	mu        sync.Mutex // guards the fields below
	delivered map[string]cache.Object
	calls     int
	events    int
	flooded   *flooded  // by writes while it blocked; see flood
	busy      bool      // a call has not returned
	rests     time.Time // when the next call may begin; later than now after a panic in the adapter
	removed   bool
	wasSynced bool // after an earlier step
}

func newRecorder(x *execution, n int, spec handlerSpec) *recorder {
	return &recorder{
		run: x, name: fmt.Sprintf("handler %d", n), spec: spec, release: make(chan struct{}), delivered: make(map[string]cache.Object),
	}
}

// slow is how long a slow call takes.
const slow = 700 * time.Millisecond

// batch is the batch handler.
func (r *recorder) batch(events []cache.Event[cache.Object]) {
	r.call(func() {
		for _, e := range events {
			if got := stateOf(e.Object()).key; got != e.Key {
				r.run.fail("event", "%s: the event of %s has the key %s", r.name, got, e.Key)
			}
			old := e.Old
			if e.Type == cache.EventDelete {
				r.checkDeletion(e)
				old = e.Final
			}
			r.check(e.Type, old, e.New)
			r.checkFlags(e)
			if e.Coalesced > 0 {
				r.run.meet("event coalesced")
			}
		}
	})
}

// checkDeletion checks that the old state of a deletion is the one that was delivered last, unless
// the handler reads none.
func (r *recorder) checkDeletion(e cache.Event[cache.Object]) {
	r.run.checked("old state")
	last := r.delivered[e.Key]
	if r.spec.WithoutOld && e.Old != nil || !r.spec.WithoutOld && last != nil && (e.Old == nil || stateOf(e.Old) != stateOf(last)) {
		r.fail("the deletion of %v has the old state %v, delivered before: %v", stateOf(e.Final), e.Old, stateOf(last))
	}
}

// checkFlags checks what an event says of itself.
func (r *recorder) checkFlags(e cache.Event[cache.Object]) {
	s := stateOf(e.Object())
	if e.InInitialList && (e.Type != cache.EventAdd || r.wasSynced) {
		r.fail("%s of %v is of the initial list; the handler was synced: %v", e.Type, s, r.wasSynced)
	}
	r.run.server.mu.Lock()
	defer r.run.server.mu.Unlock()
	a := &r.run.server.availability
	left := a.leaves+a.disproofs > 0 || r.spec.Kind == kindFilter || r.run.server.world.refused(s.uid)
	if e.LeftScope && (e.Type != cache.EventDelete || !left) {
		r.fail("%s of %v has left the scope", e.Type, s)
	}
	if e.Type == cache.EventDelete && !e.LeftScope && !r.run.server.world.hasDeleted(s.uid) && len(r.run.server.world.epochs) == 1 {
		r.fail("%s of %v, which exists", e.Type, s)
	}
}

// event handles one event of the adapter.
func (r *recorder) event(kind cache.EventType, old, pod cache.Object) {
	r.call(func() { r.check(kind, old, pod) })
}

// key is the key handler. What it has been delivered is what the store holds during the call.
func (r *recorder) key(key string) {
	r.call(func() {
		r.delivered[key] = r.run.subject.get(key)
		if r.delivered[key] == nil {
			delete(r.delivered, key)
		}
	})
}

// call records a call and then takes as long as the handler's pace says.
func (r *recorder) call(record func()) {
	r.begin(record)
	defer r.end()
	if r.calls%r.spec.Every != 0 {
		return
	}
	switch r.spec.Pace {
	case paceSlow:
		<-time.After(slow)
	case paceBlock:
		<-r.release
	case pacePanic:
		panic(errBad)
	case paceExit:
		runtime.Goexit()
	}
}

func (r *recorder) begin(record func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy || r.removed {
		r.run.fail("call", "%s: a call during another: %v, after the handler was removed: %v", r.name, r.busy, r.removed)
	}
	r.busy, r.calls = true, r.calls+1
	record()
	if r.calls%5 == 1 && !r.run.program.Options.Adapter {
		r.run.checkSnapshot()
	}
}

func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	if r.run.program.Options.Adapter && r.spec.Pace == pacePanic {
		r.rests = time.Now().Add(2 * time.Second)
	}
}

// check checks that an event may follow those delivered so far. The caller holds mu.
func (r *recorder) check(kind cache.EventType, old, pod cache.Object) {
	r.run.checked("event")
	r.events++
	latest := pod
	if kind == cache.EventDelete {
		latest = old
	}
	s := stateOf(latest)
	r.run.note("%s: %s %v", r.name, kind, s)
	last, known := r.delivered[s.key]
	switch {
	case !known && kind == cache.EventDelete && r.mayDeleteUnstored():
	case known != (kind != cache.EventAdd):
		r.fail("%s of %v, delivered before: %v", kind, s, known)
	case known && last.GetUID() != latest.GetUID():
		r.fail("%s of %v, delivered before: %v", kind, s, stateOf(last))
	case kind == cache.EventUpdate:
		r.checkUpdate(last, old, pod)
	}
	r.checkState(kind, s, latest)
	if kind == cache.EventDelete {
		delete(r.delivered, s.key)
	} else {
		r.delivered[s.key] = pod
	}
}

// mayDeleteUnstored reports whether an object may be deleted that was never added. The adapter
// delivers its deletion as client-go does, and a history that overtook the store's has objects that
// it never received.
func (r *recorder) mayDeleteUnstored() bool {
	return r.run.program.Options.Adapter && r.run.rollback.epoch > 0
}

// checkState checks that a state was on the server and is one that the store may hold. A deletion
// may have one that the filter has refused.
func (r *recorder) checkState(kind cache.EventType, s state, pod cache.Object) {
	x := r.run
	x.server.mu.Lock()
	known := x.server.world.knows(s)
	x.server.mu.Unlock()
	refused, deleted := s.bad == badRefused || s.bad == badFilter, kind == cache.EventDelete
	if !known || refused && !deleted || s.isKept() && !refused {
		r.fail("%s of %v; on the server: %v", kind, s, known)
	}
	if err := intact(pod, r.run.program.Options); err != nil && !refused {
		r.fail("%s: %v", kind, err)
	}
}

// checkUpdate checks the old state of an update, and that the update is not empty.
func (r *recorder) checkUpdate(last, old, pod cache.Object) {
	r.run.checked("old state")
	o := r.run.program.Options
	if r.spec.WithoutOld {
		if old != nil {
			r.fail("update from %v, without the old state", stateOf(old))
		}
		old = last
	}
	switch {
	case stateOf(old) != stateOf(last):
		r.fail("update from %v, delivered before: %v", stateOf(old), stateOf(last))
	case old != last && !o.Packed:
		r.fail("update from a copy of %v", stateOf(last))
	}
	before, after := stateOf(old), stateOf(pod)
	resync := r.spec.Resync != 0 || o.Resync != 0 || o.RelistUpdates
	if before == after && !resync && !r.run.mayShowOther() {
		r.fail("empty update of %v", after)
	}
	if after.version < before.version && !r.run.restored() {
		r.fail("update of %v to %v", before, after)
	}
}

func (r *recorder) fail(format string, arguments ...any) {
	r.run.fail("event", r.name+": "+format, arguments...)
}

// expectDelivered checks that the handler's events add up to what the store holds, and that it has
// synced, unless it is busy.
func (r *recorder) expectDelivered(v view) {
	r.run.checked("fold")
	synced := r.synced()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wasSynced && !synced || synced && v.version == "" {
		r.fail("synced: %v, before: %v, the store is at %q", synced, r.wasSynced, v.version)
	}
	r.wasSynced = synced
	if r.busy || r.removed || time.Now().Before(r.rests) {
		return
	}
	r.checkBacklog()
	if got, want := describe(r.delivered), describe(r.accepted(v.pods)); got != want || v.version != "" && !synced {
		r.run.fail("fold", "%s: its events add up to %s, the store holds %s; synced: %v", r.name, got, want, synced)
	}
}

// accepts is the FilterFunc of a FilteringResourceEventHandler.
func accepts(pod cache.Object) bool { return stateOf(pod).value%3 != 0 }

// accepted returns the Pods that the handler receives.
func (r *recorder) accepted(pods map[string]cache.Object) map[string]cache.Object {
	if r.spec.Kind != kindFilter {
		return pods
	}
	pods = maps.Clone(pods)
	maps.DeleteFunc(pods, func(_ string, pod cache.Object) bool { return !accepts(pod) })
	return pods
}

// unblock ends the calls that block.
func (r *recorder) unblock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.release:
	default:
		close(r.release)
	}
}
