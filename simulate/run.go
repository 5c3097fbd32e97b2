// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/fake"
)

// newScheduler returns the scheduler of a run with a limit of its load. The watchdog and the mapper
// are shared by all runs.
func newScheduler(test *Test, p plan, limit int, watchdog *watchdog, mapper *mapper) *scheduler {
	s := &scheduler{
		test: test, plan: p, limit: limit, quiescence: newQuiescence(), watchdog: watchdog, mapper: mapper,
		points: newPoints(), record: record{began: time.Now(), without: test.Without}, rest: restOracle{period: test.Rest}, refusals: refusals{},
		staleness: newStaleness(), arrived: make(chan struct{}, 1),
	}
	watchdog.bubble.Store(currentBubble())
	if p.seed != 0 {
		s.random = rand.New(rand.NewPCG(p.seed, 0))
	}
	return s
}

// run executes the test once. A function of the test may panic, or end the goroutine.
func (s *scheduler) run() {
	defer s.shutDown()
	if s.setUp() {
		s.executeSteps()
	}
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
	if s.test.Setup != nil && !s.call(s.test.Setup) {
		return false
	}
	s.steps, s.rest.outside = []string{s.server.ResourceVersion()}, s.outsideState()
	for i := range max(s.test.Replicas, 1) {
		s.start(i + 1)
	}
	return true
}

// executeSteps executes the steps of the test, and settles.
func (s *scheduler) executeSteps() {
	s.call(func(w *World) {
		w.Settle()
		if s.test.Steps != nil {
			s.test.Steps(w)
			w.Settle()
		}
	})
}

// call calls a function of the test. It reports whether all the function's requests have succeeded.
func (s *scheduler) call(do func(*World)) (ok bool) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		failed, isStep := cause.(stepFailed)
		if !isStep {
			panic(cause)
		}
		if failed.cause != nil {
			s.record.fail(oracleSteps, "%v", failed.cause)
		}
	}()
	do(&World{scheduler: s})
	return true
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
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.staleness = newStaleness()
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
			s.record.failWithStacks(Return, programStacks(), "Start has not returned %v after its context was cancelled", stopTimeout)
		}
	}
	for _, p := range s.processes {
		if p.hasReturned() && p.stack != "" {
			s.record.failWithStacks(Panic, []string{p.stack}, "Start panicked: %s", p.panicked)
		}
		s.crash(p)
	}
	s.failRefused("Test.Roles do not permit what the program does when it stops", isDenied)
	if err := s.server.Close(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		s.record.fail(oracleSteps, "close the API server: %v", err)
	}
	time.Sleep(stopTimeout)
	synctest.Wait()
	s.takeReports()
	if left := programStacks(); len(left) > 0 {
		s.record.failWithStacks(Goroutines, left, "%d goroutines are left after Start has returned%s", len(left), handlersOf(left))
	}
	if failed != nil {
		s.record.failure = failed
	}
}

// release drops what is large: the goroutines that a program has left keep the scheduler.
func (s *scheduler) release() {
	s.server, s.record, s.actions, s.rest = nil, record{}, nil, restOracle{}
}
