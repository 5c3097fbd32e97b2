// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/cache"
)

// scopedAbsence is what a scopedExecution remembers of whether the resource is served. The
// execution's mu guards the fields without another guard.
type scopedAbsence struct {
	possible bool  // a verdict was that the resource is absent, since the informer last had the state of the server
	notFound int64 // the number of 404s before the first such verdict

	quiet *scopedQuiet // nil unless no scope is served; belongs to the test's goroutine
}

// scopedQuiet is what the informer had received and requested when no scope was served.
type scopedQuiet struct {
	verdicts int
	scopes   []cache.Scope
	requests int64
}

// scopedRequests counts requests.
type scopedRequests struct{ all, notFound atomic.Int64 }

// refuse returns the error of a request with a fault, or whose lane does not serve the resource.
// The caller holds mu.
func (s *scopedServer) refuse(options metav1.ListOptions, fault string) error {
	err := requestErrors[fault]
	if err == nil && s.lanes[laneOf(options)].absent {
		err = errNoResource
	}
	if apierrors.IsNotFound(err) {
		s.requests.notFound.Add(1)
	}
	return err
}

// serve makes the lanes that do not lag serve the resource, or not.
func (s *scopedServer) serve(op string) {
	s.mu.Lock()
	s.availability.absent = op != opDefine
	s.availability.gone = op == opUndefine || op == opUnserve && s.availability.gone
	for number := range lanes {
		if s.lanes[number].release == nil {
			s.lanes[number].absent = s.availability.absent
		}
	}
	s.mu.Unlock()
	s.closeAbsent()
}

// closeAbsent closes the watches of the lanes that do not serve the resource.
func (s *scopedServer) closeAbsent() {
	for number := range lanes {
		s.mu.Lock()
		absent := s.lanes[number].absent
		s.mu.Unlock()
		if absent {
			s.closeLane(number)
		}
	}
}

// changeServed executes a step that changes whether the resource is served, or what is known of it.
func (x *scopedExecution) changeServed(s scopedStep) {
	if x.server.availability.resource == nil {
		return
	}
	if s.Op == opVerdict {
		x.decide(s.Verdict)
		return
	}
	if s.Op == opUndefine {
		for key := range x.world.now() {
			x.world.remove(key)
		}
	}
	x.server.serve(s.Op)
	x.world.gone = x.server.availability.gone
}

// decide publishes a verdict. Handlers wait meanwhile.
func (x *scopedExecution) decide(verdict string) {
	a := &x.server.availability
	x.server.mu.Lock()
	outcome, why := a.decide(verdict)
	x.server.mu.Unlock()
	x.mu.Lock()
	if why != nil && !x.absence.possible {
		x.absence.possible, x.absence.notFound = true, x.server.requests.notFound.Load()
	}
	x.mu.Unlock()
	a.resource.Set(outcome, why)
}

// serveAgain makes the server serve the resource, and the informer know it. If it did not, the
// informer first comes to know that.
func (x *scopedExecution) serveAgain() {
	a := &x.server.availability
	if a.resource == nil {
		return
	}
	if a.absent {
		x.decide("")
		x.settle(x.misjudges, func() { <-time.After(time.Minute) })
		x.changeServed(scopedStep{Op: opDefine})
	}
	x.decide("")
}

// misjudges returns how the informer differs from one that knows that the resource is absent, or
// "".
func (x *scopedExecution) misjudges() string {
	for _, status := range x.informer.ScopeStatus() {
		if status.Phase != cache.PhaseNotServed {
			return fmt.Sprintf("the resource is absent, status %+v", status)
		}
	}
	return ""
}

// isAbsent reports whether no scope of the informer is served.
func (x *scopedExecution) isAbsent() bool {
	return x.server.availability.resource != nil && len(x.informer.ScopeStatus()) > 0 && x.misjudges() == ""
}

// checkAbsence checks that a store of which no scope is served is empty, but for what the program
// has written, and that the informer makes no requests meanwhile. The caller holds mu.
func (x *scopedExecution) checkAbsence(stored map[string]scopedState) {
	if !x.isAbsent() {
		x.absence.quiet = nil
		return
	}
	for key, s := range stored {
		if !x.writing.touched[key] {
			x.failLocked("absence", "the store has %v", s)
		}
	}
	if x.informer.HasSynced() {
		x.failLocked("absence", "the informer has synced")
	}
	now := &scopedQuiet{x.server.availability.verdicts, x.scopes.All(), x.server.requests.all.Load()}
	if last := x.absence.quiet; last != nil && last.verdicts == now.verdicts && slices.Equal(last.scopes, now.scopes) && last.requests < now.requests {
		x.failLocked("absence", "%d requests", now.requests-last.requests)
	}
	x.absence.quiet = now
}

// noteServed records that the informer has the state of the server. The caller holds mu.
func (x *scopedExecution) noteServed() {
	a := &x.server.availability
	x.absence.possible = a.resource != nil && (x.absence.possible && a.saysAbsent())
}

// mayBeCleared reports whether the store may have been cleared: after a verdict and a 404. The
// caller holds mu.
func (x *scopedExecution) mayBeCleared() bool {
	return x.absence.possible && x.server.requests.notFound.Load() > x.absence.notFound
}

// mayRefuse reports whether err is the error of reads while the resource may be absent. The caller
// holds mu.
func (x *scopedExecution) mayRefuse(err error) bool {
	return errors.Is(err, cache.ErrNotServed) && x.absence.possible && len(x.scopes.All()) > 0
}

// servedOperations are the weights of operations of programs whose resource may be absent.
var servedOperations = map[string]int{opUnserve: 5, opUndefine: 5, opDefine: 6, opVerdict: 12}

func (p scopedProgram) drawVerdict(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "", "", verdictUnknown, verdictFalse}).Draw(t, "verdict")
}
