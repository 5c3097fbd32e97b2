// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// checkStore checks that the store shows one state of the server's history, not before the last
// one, and that the handlers that are not busy have received it.
func (x *execution) checkStore() {
	v := x.subject.view()
	x.checkView(v)
	if len(x.result) > 0 && !x.server.functions.mayEndRun() {
		x.fail("stop", "Run has returned %v before it was stopped", <-x.result)
	}
	if x.canceled || x.mayHaveEnded() || x.awaitsWatch(v) {
		return
	}
	for _, r := range x.handlers {
		r.expectDelivered(v)
	}
}

// awaitsWatch reports whether handlers may not have received the initial list, because no watch has
// been answered, and a second has not passed. Objects that stream are not held back.
func (x *execution) awaitsWatch(v view) bool {
	if v.version == "" || x.program.Options.Wire != "" {
		return false
	}
	if x.listedAt.IsZero() {
		x.listedAt = time.Now()
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return !x.server.answered && time.Since(x.listedAt) < time.Second
}

func (x *execution) checkView(v view) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.checkStart(v)
	x.checkAbsence(v)
	if x.isAbsent() {
		x.last = v
		return
	}
	if why := x.follow(v); why != "" && (len(v.pods) > 0 || !x.mayBeCleared()) {
		x.fail("store", "%s", why)
	}
	x.checkIndex(v)
	x.notFound = x.server.availability.notFound
	if x.last = v; len(v.pods) > 0 && !x.server.availability.saysAbsent() {
		x.absences = x.server.availability.absences
	}
}

// noteStart records the state of the server before the informer's first request.
func (x *execution) noteStart() {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.startEpoch, x.startHead = len(x.server.world.epochs), x.server.world.present().head
}

// checkStart checks that the first list is not older than the server's state when the informer was
// started, whichever replica has answered. client-go's list at version 0, and the adapter's, may
// be.
func (x *execution) checkStart(v view) {
	first := x.last.version == "" && v.version != ""
	if !first || x.program.Options.Adapter || x.startEpoch != len(x.server.world.epochs) {
		return
	}
	x.checked("start")
	if version := parseVersion(v.version); version < x.startHead {
		x.fail("start", "the first list is at %d, the server was at %d before the start", version, x.startHead)
	}
}

// checkSnapshot checks that a snapshot, taken while the informer works, shows one state of the
// server's history.
func (x *execution) checkSnapshot() {
	x.checked("snapshot")
	v := x.subject.view()
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	why := ""
	for i, e := range x.server.world.epochs {
		if why = x.mismatch(e, i, parseVersion(v.version), v); why == "" {
			break
		}
	}
	if why != "" && len(v.pods) == 0 && x.mayBeCleared() {
		why = ""
	}
	if why != "" && x.isDoubtful() {
		why = x.mixes(v)
	}
	if why != "" {
		x.fail("snapshot", "%s", why)
	}
	x.checkIndex(v)
}

// follow finds the epoch of a view.
func (x *execution) follow(v view) (why string) {
	x.checked("version")
	w := x.server.world
	version := parseVersion(v.version)
	for i := x.epoch; i < len(w.epochs); i++ {
		if i == x.epoch && version < x.reached {
			why = fmt.Sprintf("version %d, after %d", version, x.reached)
			continue
		}
		if i > x.epoch && version > w.epochs[i].head {
			why = fmt.Sprintf("version %d, which a restored server has not reached", version)
			continue
		}
		if why = cmp.Or(x.mismatch(w.epochs[i], i, version, v), x.wrongStatus(w.epochs[i], version)); why == "" {
			x.epoch, x.reached = i, version
			if i == len(w.epochs)-1 && version < w.ceiling {
				w.ceiling = 0
				x.meet("restore noticed")
			}
			if i > 0 && i == x.rollback.epoch {
				x.rollback.since = time.Time{}
			}
			return ""
		}
	}
	if why != "" && x.isDoubtful() && version >= x.reached {
		if why = x.mixes(v); why == "" {
			x.reached = version
		}
	}
	return why
}

// wrongStatus returns how Status differs from the state of an epoch at a version, or "".
func (x *execution) wrongStatus(e *epoch, version uint64) string {
	if x.program.Options.Reference { // has no status
		return ""
	}
	x.checked("quarantine")
	status := x.subject.Status()
	got, want := make(map[string]bool), make(map[string]bool)
	for _, failed := range status.Store.QuarantinedKeys {
		got[failed.Key] = true
	}
	for key, s := range e.at(version) {
		if s.isKept() && s.bad != badSkip {
			want[key] = true
		}
	}
	if !maps.Equal(got, want) || status.Store.Quarantined != len(got) {
		return fmt.Sprintf("at %d the keys %v are quarantined, want %v", version, got, want)
	}
	return ""
}

// mismatch returns how a view differs from the state of an epoch at a version, or "".
func (x *execution) mismatch(e *epoch, index int, version uint64, v view) string {
	x.checked("store")
	objects := e.at(version)
	for key, pod := range v.pods {
		if _, exists := objects[key]; !exists {
			return fmt.Sprintf("the store has %v, which the server does not have at %d", stateOf(pod), version)
		}
		if err := intact(pod, x.program.Options); err != nil {
			return err.Error()
		}
	}
	for key, s := range objects {
		if why := x.differs(e, index, version, s, v.pods[key]); why != "" {
			return fmt.Sprintf("the server has %v at %d, the store %s", s, version, why)
		}
	}
	return ""
}

// differs returns what the store has of an object instead of a state, or "".
func (x *execution) differs(e *epoch, index int, version uint64, s state, pod cache.Object) string {
	switch {
	case pod == nil && s.isKept():
		return x.lost(e, index, version, s)
	case pod == nil && s.bad != badRefused:
		return "nothing"
	case pod == nil:
		return ""
	case s.isKept():
		stored := stateOf(pod)
		if stored.isKept() || stored.bad == badRefused || stored.uid != s.uid || !x.server.world.knows(stored) {
			return stored.String()
		}
	case stateOf(pod) != s:
		return stateOf(pod).String()
	}
	return ""
}

// lost returns the state of an object that the store held before and no longer holds, although only
// states that cannot be stored have followed.
func (x *execution) lost(e *epoch, index int, version uint64, s state) string {
	before := x.last.pods[s.key]
	if before == nil || x.mayBeCleared() || string(before.GetUID()) != s.uid || index != x.epoch || version < x.reached {
		return ""
	}
	for _, later := range e.since(x.reached) {
		if later.version <= version && later.key == s.key && !later.isKept() {
			return ""
		}
	}
	return "lost " + stateOf(before).String()
}

// checkIndex compares the index with what the index function returns for the stored objects.
func (x *execution) checkIndex(v view) {
	x.checked("index")
	want := make(map[string][]string)
	for key, pod := range v.pods {
		values, _ := indexNode(pod)
		for _, value := range values {
			want[value] = append(want[value], key)
		}
	}
	for _, keys := range want {
		slices.Sort(keys)
	}
	for _, keys := range v.byNode {
		slices.Sort(keys)
	}
	if !maps.EqualFunc(want, v.byNode, slices.Equal[[]string]) {
		x.fail("index", "index %v, want %v", v.byNode, want)
	}
}

// isConverged reports whether the store has the server's present state and the informer follows it.
func (x *execution) isConverged() bool {
	v := x.subject.view()
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	if x.server.availability.absent && x.server.availability.saysAbsent() {
		return x.isAbsent() && len(v.pods) == 0
	}
	e := x.server.world.present()
	for _, s := range e.at(e.head) {
		if s.exitsGoroutine() {
			return true // lists of it fail
		}
	}
	if x.mismatch(e, len(x.server.world.epochs)-1, e.head, v) != "" {
		return false
	}
	for _, s := range e.at(e.head) {
		if s.isKept() {
			return true // it is requested again and again
		}
	}
	status := x.subject.Status()
	return status.Err == nil && status.Phase == "Watching"
}

// checkRate checks the number of requests in each minute, and in each ten minutes.
func (x *execution) checkRate() {
	x.checked("rate")
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.checkRateWithin(time.Minute, 22)
	x.checkRateWithin(10*time.Minute, 130)
}

// checkRateWithin checks that the server has received at most limit requests within any window. The
// caller holds the server's mu.
func (x *execution) checkRateWithin(window time.Duration, limit int) {
	requests := x.server.requests
	for i := limit; i < len(requests); i++ {
		if took := requests[i].at.Sub(requests[i-limit].at); took < window {
			x.fail("rate", "%d requests within %v", limit+1, took)
			return
		}
	}
}

// failRate reports that the server has closed because of too many requests.
func (x *execution) failRate() { x.fail("rate", "more than %d requests within a minute", maxFlood) }

// describe lists Pods in the order of their keys.
func describe(pods map[string]cache.Object) string {
	words := make([]string, 0, len(pods))
	for _, key := range sortedKeys(pods) {
		words = append(words, stateOf(pods[key]).String())
	}
	return "[" + strings.Join(words, " ") + "]"
}
