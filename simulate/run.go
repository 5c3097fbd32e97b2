// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand" //nolint:depguard // whose global generator client-go draws from
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/kinformer/kinformer/fake"
)

// plan decides what happens in a run: the order of stimuli and the disturbances.
type plan struct {
	seed         uint64 // of the order; 0 is the order of arrival
	disturbances []Disturbance
}

// at returns the disturbances at a write.
func (p plan) at(point string) []Disturbance {
	var all []Disturbance
	for _, d := range p.disturbances {
		if d.place() == point {
			all = append(all, d)
		}
	}
	return all
}

// String returns the arguments of Replay.
func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", p.seed)
	for _, d := range p.disturbances {
		b.WriteString(", " + d.String())
	}
	return b.String()
}

// run executes the test once, in a bubble of its own.
func (r *runner) run(p plan) (result record) {
	r.runs++
	defer func() {
		// The bubble panics if goroutines are left, of which shutDown has taken note.
		if cause := recover(); cause != nil && !strings.Contains(fmt.Sprint(cause), "blocked goroutines remain") {
			panic(cause)
		}
		r.stimuli += result.stimuli
		r.happened = append(r.happened, result.happened...)
		r.planned += len(p.disturbances)
	}()
	seedGlobal(int64(p.seed))
	completed := false
	synctest.Test(r.t, func(*testing.T) {
		s := r.newScheduler(p)
		defer func() {
			result = s.record
			s.release()
		}()
		r.current.Store(s)
		defer r.current.Store(nil)
		if s.setUp() {
			s.executeSteps()
		}
		s.shutDown()
		completed = true
	})
	if !completed {
		r.t.FailNow() // as Steps has
	}
	return result
}

// release drops what is large: the goroutines that a program has left keep the scheduler.
func (s *scheduler) release() {
	s.server, s.record, s.actions, s.rest = nil, record{}, nil, restOracle{}
}

// seedGlobal seeds what client-go draws delays from, and the server generated names.
func seedGlobal(seed int64) {
	utilrand.Seed(seed)
	mathrand.Seed(seed) //nolint:staticcheck // there is no other way to repeat the delays of programs
}

func (r *runner) newScheduler(p plan) *scheduler {
	s := &scheduler{
		test: r.test, plan: p, quiescence: newQuiescence(), watchdog: r.watchdog, mapper: &r.mapper,
		points: newPoints(), record: record{began: time.Now(), without: r.test.Without}, rest: restOracle{period: r.test.Rest},
		staleness: newStaleness(), arrived: make(chan struct{}, 1),
	}
	if p.seed != 0 {
		s.random = rand.New(rand.NewPCG(p.seed, 0))
	}
	return s
}

// setUp starts the API server with the objects of the test, and the processes.
func (s *scheduler) setUp() bool {
	server, err := fake.StartAPIServer(fake.APIServerOptions{
		InMemory: true, BookmarkPeriod: math.MaxInt64, NoWatchTimeout: true, CustomResources: s.test.CustomResources,
	})
	if err != nil {
		s.record.fail(oracleSteps, "start the API server: %v", err)
		return false
	}
	s.server = server
	for _, obj := range s.test.Objects {
		_, err := s.mapper.resource(s.server, obj)
		if err == nil {
			err = s.create(obj)
		}
		if err != nil {
			s.record.fail(oracleSteps, "create %s of Test.Objects: %v", describe(obj), err)
			return false
		}
	}
	s.steps = []string{s.server.ResourceVersion()}
	for i := range max(s.test.Replicas, 1) {
		s.start(i + 1)
	}
	return true
}

// executeSteps executes the steps of the test, and settles.
func (s *scheduler) executeSteps() {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		failed, ok := cause.(stepFailed)
		if !ok {
			panic(cause)
		}
		if failed.cause != nil {
			s.record.fail(oracleSteps, "%v", failed.cause)
		}
	}()
	w := &World{scheduler: s}
	w.Settle()
	if s.test.Steps != nil {
		s.test.Steps(w)
		w.Settle()
	}
}

// stopTimeout is the time of the bubble's clock in which Start must return after its context is
// cancelled.
const stopTimeout = 5 * time.Minute

// shutDown cancels the processes, waits until Start has returned, and checks that no goroutine is
// left.
func (s *scheduler) shutDown() {
	if s.server == nil {
		return
	}
	s.stopped, s.staleness = true, newStaleness()
	for _, p := range s.processes {
		p.stopping = true
		p.cancel()
	}
	failed := s.record.failure
	s.record.failure = nil
	end := time.Now().Add(stopTimeout)
	for _, p := range s.processes {
		s.runUntil(func() time.Time {
			if p.hasReturned() {
				return time.Now()
			}
			return end
		})
		if !p.hasReturned() {
			s.record.fail(Return, "Start has not returned %v after its context was cancelled\n%s", stopTimeout, strings.Join(bubbleStacks(), "\n\n"))
		}
	}
	for _, p := range s.processes {
		if p.hasReturned() && p.panicked != "" {
			s.record.fail(Panic, "Start panicked: %s", p.panicked)
		}
		s.crash(p)
	}
	if err := s.server.Close(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		s.record.fail(oracleSteps, "close the API server: %v", err)
	}
	s.sleepUntil(time.Now().Add(stopTimeout))
	synctest.Wait()
	if left := programStacks(); len(left) > 0 {
		s.record.fail(Goroutines, "%d goroutines are left after Start has returned\n%s", len(left), strings.Join(left, "\n\n"))
	}
	if failed != nil {
		s.record.failure = failed
	}
}
