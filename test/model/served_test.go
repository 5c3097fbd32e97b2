// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// Values of step.Verdict, apart from that of the truth, which is empty.
const (
	verdictUnknown = "unknown"
	verdictFalse   = "false" // the resource is said not to be served
)

// errNotListed is why the model's follower says that the resource is absent.
var errNotListed = fmt.Errorf("the model: %w", served.ErrNotServed)

// errNoResource is the answer of a server that does not serve the resource.
var errNoResource = apierrors.NewGenericServerResponse(http.StatusNotFound, "get", cachetest.PodResource, "", "404 page not found", 0, true)

// availability is whether the server serves the resource, and the verdict that the informer has.
// The server's mutex guards it.
type availability struct {
	absent    bool             // the servers that do not lag answer 404
	gone      bool             // the definition was deleted, and the objects with it
	resource  *served.Resource // of the informer; nil if it has none
	verdicts  int              // how often the verdict has changed
	absences  int              // how often a verdict was that the resource is absent
	notFound  int              // the number of answers that were 404
	disproofs int              // the number of answers with objects while the verdict was that there are none
	leaves    int              // how often one was that its objects may exist
}

func newAvailability(isServed, pending bool) availability {
	if !isServed {
		return availability{}
	}
	a := availability{resource: served.New(errNotListed)}
	if !pending {
		a.resource.Set(served.Served, nil)
	}
	return a
}

// answered counts an answer that confirms, or disproves, that the resource is absent.
func (a *availability) answered(err error) {
	switch {
	case apierrors.IsNotFound(err):
		a.notFound++
	case err == nil && a.saysAbsent():
		a.disproofs++
	}
}

// saysAbsent reports whether the verdict of the informer is that the resource is absent.
func (a *availability) saysAbsent() bool {
	return a.resource != nil && a.resource.Verdict().IsAbsent()
}

// option returns the informer's option.
func (a *availability) option() *cache.Served {
	if a.resource == nil {
		return nil
	}
	return served.Publish(a.resource)
}

// stepServed executes a step that changes whether the resource is served, or what is known of it.
func (x *execution) stepServed(st step) {
	s := x.server
	if s.availability.resource == nil {
		return
	}
	switch st.Op {
	case opUnserve, opDefine, opUndefine:
		s.change(func(w *world) {
			if st.Op == opUndefine {
				for _, key := range keys {
					w.remove(key, 1)
				}
			}
			s.availability.absent = st.Op != opDefine
			s.availability.gone = st.Op == opUndefine || st.Op == opUnserve && s.availability.gone
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.updateReplicas()
	case opVerdict:
		x.decide(st.Verdict)
	}
}

// updateReplicas lets the replicas that do not lag know whether the resource is served. Those that
// no longer serve it end their watches. The caller holds the mutex.
func (s *server) updateReplicas() {
	for i := range s.replicas {
		if !s.replicas[i].lags {
			s.replicas[i].absent = s.availability.absent
		}
	}
	for _, stream := range slices.Clone(s.streams) {
		if s.replicas[stream.replica].absent {
			stream.close()
		}
	}
}

// decide publishes a verdict.
func (x *execution) decide(verdict string) {
	a := &x.server.availability
	x.server.mu.Lock()
	outcome, why := a.decide(verdict)
	x.server.mu.Unlock()
	a.resource.Set(outcome, why)
}

// decide returns a verdict, and counts it.
func (a *availability) decide(verdict string) (outcome served.Outcome, why error) {
	outcome = served.Served
	switch {
	case verdict == verdictUnknown:
		outcome = served.Unknown
	case a.gone:
		outcome, why = served.Gone, errNotListed
	case a.absent, verdict == verdictFalse:
		outcome, why = served.NotServed, errNotListed
	}
	a.verdicts++
	if why != nil {
		a.absences++
	}
	if outcome == served.NotServed {
		a.leaves++
	}
	return outcome, why
}

// mayBeCleared reports whether the store may have been cleared since it was last seen with objects.
func (x *execution) mayBeCleared() bool { return x.server.availability.absences > x.absences }

// isAbsent reports whether the informer knows that the resource is not served.
func (x *execution) isAbsent() bool {
	return x.server.availability.resource != nil && x.subject.Status().Phase == cache.PhaseNotServed
}

// checkAbsence checks that a store whose resource is not served is empty, that reads say so, and
// that the informer makes no requests meanwhile.
func (x *execution) checkAbsence(v view) {
	if !x.isAbsent() {
		x.quiet = nil
		return
	}
	x.checked("absence")
	verdict := x.server.availability.resource.Verdict()
	if !verdict.IsAbsent() {
		return // a step that did not wait
	}
	if len(v.pods) > 0 {
		x.fail("absence", "the store has %s", describe(v.pods))
	}
	if len(x.last.pods) > 0 && x.server.availability.notFound == x.notFound {
		x.fail("absence", "no server has confirmed it")
	}
	if err := x.subject.Status().Err; !errors.Is(err, cache.ErrNotServed) {
		x.fail("absence", "the status has the error %v", err)
	}
	if v.version != "" && x.server.availability.absences == 0 {
		x.fail("absence", "the store was emptied before there was a verdict")
	}
	if n := x.writeWaits.Load(); n > 0 && !x.server.functions.isBlocked() {
		x.fail("absence", "%d waits for a write go on", n)
	}
	if reader, ok := x.subject.(interface{ keyError(key string) error }); ok {
		err := reader.keyError(keys[0])
		if known := verdict.Outcome == served.Gone && v.version != ""; errors.Is(err, cache.ErrNotServed) == known && x.server.availability.disproofs == 0 {
			x.fail("absence", "a read returns %v, the objects are known to be gone: %v", err, known)
		}
	}
	if requests := len(x.server.requests); x.quiet == nil || x.quiet.verdicts != x.server.availability.verdicts {
		x.quiet = &quiet{requests, x.server.availability.verdicts}
		x.meet("absence " + map[bool]string{true: "of unlisted", false: "of listed"}[v.version == ""])
	} else if requests > x.quiet.requests {
		x.fail("absence", "%d requests", requests-x.quiet.requests)
	}
}

// quiet is when the informer was first seen without a resource.
type quiet struct{ requests, verdicts int }

// addServed inserts steps that change whether the resource is served.
func addServed(p *program, rand *rand.Rand) {
	verdict := func() step {
		switch rand.IntN(12) {
		case 0:
			return step{Op: opVerdict, Verdict: verdictUnknown}
		case 1:
			return step{Op: opVerdict, Verdict: verdictFalse}
		}
		return step{Op: opVerdict}
	}
	for range 1 + rand.IntN(6) {
		change := step{Op: []string{opUnserve, opUndefine, opUndefine, opDefine}[rand.IntN(4)]}
		at := rand.IntN(len(p.Steps) + 1)
		steps := []step{change}
		if rand.IntN(4) > 0 {
			steps = append(steps, verdict())
		}
		if rand.IntN(2) == 0 {
			steps = append(steps, step{Op: opDefine})
		}
		if rand.IntN(2) == 0 {
			steps = append(steps, verdict())
		}
		for _, st := range steps {
			st.NoWait = rand.IntN(4) == 0
			p.Steps = slices.Insert(p.Steps, at, st)
			at = min(at+1+rand.IntN(3), len(p.Steps))
		}
	}
}
