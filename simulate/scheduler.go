// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/kinformer/fake"
)

// scheduler executes one run. All that can happen next is a stimulus: a request, a watch event, an
// action of the cluster. It waits until every goroutine of the program is blocked, picks one
// stimulus, delivers it, and begins again. The bubble's clock advances when there is none, and
// after every busyStimuli.
type scheduler struct {
	test       *Test
	plan       plan
	limit      int        // of the load in a period of Test.Rest
	random     *rand.Rand // nil picks the oldest stimulus
	server     *fake.APIServer
	quiescence quiescence
	watchdog   *watchdog
	mapper     *mapper
	points     *points
	record     record
	rest       restOracle
	refusals   refusals
	stopped    bool // the run has ended: processes are not started again; changed with mu held
	staleness  staleness
	processes  []*process // changed with mu held
	steps      []string   // the resourceVersions at the beginning and after each write of Steps
	restarts   int        // of all processes
	busySince  time.Time
	busy       int  // stimuli since the clock has advanced
	disturbed  bool // a disturbance has happened
	actions    []*act
	actionsAt  string               // the resourceVersion that actions were computed at
	retryAt    map[string]time.Time // of actions that were not admitted, by their keys
	admitting  bool                 // the webhooks of an action are called: no other action is delivered
	calls      int                  // of webhooks

	arrived chan struct{} // has an element after a request, an event or the return of Start
	mu      sync.Mutex    // guards the fields below, and those of watchStreams
	pending []*request
	watches []*watchStream
	reports []func() // of the program's goroutines, to be called by the scheduler
	round   int      // number of deliveries
	running bool     // the program runs, and no function of the test is called

	abandoned atomic.Bool // the run makes no progress, and its test has ended
}

// stimulus is something that can happen next.
type stimulus interface {
	// key orders stimuli that arrived in the same round.
	key() string
	// since returns the round in which it arrived.
	since() int
	deliver(s *scheduler)
	// load is what it counts against the limit of the run: readLoad or writeLoad.
	load() int
}

// submit adds a request. It reports whether the process is alive.
func (s *scheduler) submit(q *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.process.dead {
		return false
	}
	q.round = s.round
	s.pending = append(s.pending, q)
	s.notify()
	return true
}

// withdraw removes a request.
func (s *scheduler) withdraw(q *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(other *request) bool { return other == q })
}

// report makes the scheduler call add, which adds to its record. It is called by the program's
// goroutines.
func (s *scheduler) report(add func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, add)
	s.notify()
}

// setRunning notes whether the program runs, or a function of the test is called. It returns what
// was noted before.
func (s *scheduler) setRunning(running bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.running
	s.running = running
	return before
}

// callTest calls a function of the test, whose requests to external services are executed at once.
func (s *scheduler) callTest(f func()) {
	running := s.setRunning(false)
	defer s.setRunning(running)
	f()
}

// takeReports calls the functions of report.
func (s *scheduler) takeReports() {
	s.mu.Lock()
	reports := s.reports
	s.reports = nil
	s.mu.Unlock()
	for _, add := range reports {
		add()
	}
}

func (s *scheduler) notify() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// runUntil executes stimuli until deadline returns a time that has passed, and nothing else can
// happen at that time. It fails the run if the load of the stimuli in a period of Test.Rest exceeds
// the limit.
func (s *scheduler) runUntil(deadline func() time.Time) {
	s.runUntilDone(deadline, func() bool { return false })
}

// runUntilDone is like runUntil, and ends earlier if done returns true.
func (s *scheduler) runUntilDone(deadline func() time.Time, done func() bool) {
	defer s.setRunning(s.setRunning(true))
	load, count, since := 0, 0, time.Now()
	for {
		next := s.next()
		s.takeReports()
		s.reviveProcesses()
		if s.record.failed() || done() {
			return
		}
		if time.Since(since) > s.rest.period {
			load, count, since = 0, 0, time.Now()
		}
		if load > s.limit {
			s.record.failAlways(Rest, "the program does not come to rest: %d requests and events in %v\n%s", count, time.Since(since), s.rest.repeated())
			return
		}
		if next != nil {
			load, count = load+next.load(), count+1
			s.record.load = max(s.record.load, load)
			s.deliver(next)
			continue
		}
		end := deadline()
		if !time.Now().Before(end) {
			return
		}
		s.sleepUntil(end)
	}
}

// The load of a stimulus. A program that polls reads far more often than it writes.
const (
	readLoad  = 1  // of a read, and of a request for a Lease or an Event
	writeLoad = 10 // of a write, an event and an action of the cluster
)

// The limits of the load. A step of a program that is correct takes a few hundred stimuli.
const (
	firstLimit  = 5_000 * writeLoad // in the undisturbed run
	objectLimit = 50 * writeLoad    // more for each of Test.Objects
	otherLimit  = 1_000 * writeLoad // in other runs, with timesLimit of the undisturbed run's load
	timesLimit  = 10
)

// never is not closed, and belongs to no bubble: the clock of a bubble in which a goroutine waits
// for it does not advance.
var never = make(chan struct{})

// next waits for quiescence and picks a stimulus, or returns nil if there is none.
func (s *scheduler) next() stimulus {
	if s.abandoned.Load() {
		<-never
	}
	s.quiescence.wait()
	s.endStaleness()
	stimuli := s.stimuli()
	if len(stimuli) == 0 && s.staleness.endFired() {
		s.endStaleness()
		stimuli = s.stimuli()
	}
	if len(stimuli) == 0 {
		return nil
	}
	slices.SortFunc(stimuli, func(a, b stimulus) int {
		return cmp.Or(cmp.Compare(a.since(), b.since()), cmp.Compare(a.key(), b.key()))
	})
	if s.random == nil {
		return stimuli[0]
	}
	return stimuli[s.random.IntN(len(stimuli))]
}

// endStaleness wakes the program during holds, delivers or loses the events of those whose time has
// come, and ends the past.
func (s *scheduler) endStaleness() {
	for _, resource := range s.staleness.heldResources() {
		h := s.staleness.held[resource]
		if time.Now().Before(h.until) {
			if !h.wake.IsZero() && !time.Now().Before(h.wake) {
				h.wake = time.Time{}
				s.staleness.held[resource] = h
				s.touchOthers(resource)
			}
			continue
		}
		delete(s.staleness.held, resource)
		s.rest.resume() // what is at rest so far may act on the events
		if !h.gap {
			s.record.note("", "the events of "+resource.Resource+" are delivered")
			s.noteHeld(resource)
			continue
		}
		s.record.note("", strconv.Itoa(s.loseEvents(resource))+" events of "+resource.Resource+" are lost")
	}
	if s.staleness.past.process != 0 && !time.Now().Before(s.staleness.past.until) {
		s.staleness.past = past{}
		s.rest.resume()
		s.endWatches(func(w *watchStream) bool { return w.inPast })
	}
}

// stimuli returns all that can happen.
func (s *scheduler) stimuli() []stimulus {
	var all []stimulus
	for _, a := range s.enabled() {
		if !s.admitting && s.mayTry(a) {
			all = append(all, a)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.pending {
		if !q.running {
			all = append(all, q)
		}
	}
	for _, w := range s.watches {
		if !s.staleness.holds(w.target.resource) && (len(w.frames) > 0 || w.ended) {
			all = append(all, w)
		}
	}
	return all
}

// busyStimuli is the number of stimuli after which the clock advances by a second, although more
// are pending. A program that is busy until it receives an event that is held would never receive
// it.
const busyStimuli = 100

// passTime advances the clock by a second if all goroutines are blocked by something that the clock
// waits for, which a mutex is not.
func (s *scheduler) passTime() {
	for _, stack := range programStacks() {
		if header, _, _ := strings.Cut(stack, "\n"); !strings.Contains(header, "(durable)") {
			return
		}
	}
	time.Sleep(time.Second)
}

func (s *scheduler) deliver(next stimulus) {
	s.watchdog.progress.Add(1)
	if now := time.Now(); now != s.busySince {
		s.busySince, s.busy = now, 0
	}
	if s.busy++; s.busy%busyStimuli == 0 {
		s.passTime()
	}
	s.mu.Lock()
	s.round++
	s.mu.Unlock()
	s.record.stimuli++
	next.deliver(s)
}

// sleepUntil lets the clock advance until something happens, at most until end or what
// staleness does next.
func (s *scheduler) sleepUntil(end time.Time) {
	s.watchdog.progress.Add(1)
	began := time.Now()
	timer := time.NewTimer(time.Until(s.nextRetry(s.staleness.nextEnd(end))))
	defer timer.Stop()
	select {
	case <-s.arrived:
		if time.Now().After(began) && s.hasWork() {
			s.staleness.timerFired()
		}
	case <-timer.C:
	}
}

// hasWork reports whether the program has sent a request that waits to be executed, and is not for
// a Lease or an Event.
func (s *scheduler) hasWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pending, func(q *request) bool { return !q.target.isTraffic() && !q.running && !q.executed && q.review == nil })
}
