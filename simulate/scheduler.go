// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

// scheduler executes one run. All that can happen next is a stimulus: a request, a watch event, an action
// of the cluster. It waits until every goroutine of the program is blocked, picks one stimulus, delivers
// it, and begins again. Only when there is none does the bubble's clock advance.
type scheduler struct {
	test       *Test
	plan       plan
	random     *rand.Rand // nil picks the oldest stimulus
	server     *fake.APIServer
	quiescence quiescence
	watchdog   *watchdog
	mapper     *mapper
	began      time.Time
	points     *points
	record     record
	rest       restOracle
	stopped    bool // the run has ended: processes are not started again
	holds      map[schema.GroupVersionResource]hold
	processes  []*process
	past       past
	restedAt   string // the resourceVersion at the last end of a Settle
	restarts   int    // of all processes
	busySince  time.Time
	busy       int  // stimuli since the clock has advanced
	disturbed  bool // a disturbance has happened
	actions    []*act
	actionsAt  string // the resourceVersion that actions were computed at

	arrived chan struct{} // has an element after a request, an event or the return of Start
	mu      sync.Mutex    // guards the fields below, and those of watchStreams
	pending []*request
	watches []*watchStream
	reports []func() // of the program's goroutines, to be called by the scheduler
	round   int      // number of deliveries
}

// stimulus is something that can happen next.
type stimulus interface {
	// key orders stimuli that arrived in the same round.
	key() string
	// since returns the round in which it arrived.
	since() int
	deliver(s *scheduler)
}

// hold is a time in which the events of a resource are not delivered.
type hold struct {
	until time.Time
	gap   bool // the events are lost
}

// past is a time in which a process reads an old state.
type past struct {
	process int
	until   time.Time // zero if there is none
	version string
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

// report makes the scheduler call add, which adds to its record. It is called by the program's goroutines.
func (s *scheduler) report(add func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, add)
	s.notify()
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

// runUntil executes stimuli until deadline returns a time that has passed, and nothing else can happen at
// that time. It fails the run if more than maxStimuli are needed.
func (s *scheduler) runUntil(deadline func() time.Time) {
	for range maxStimuli {
		next := s.next()
		s.takeReports()
		s.reviveProcesses()
		if s.record.failed() {
			return
		}
		if next != nil {
			s.deliver(next)
			continue
		}
		end := deadline()
		if !time.Now().Before(end) {
			return
		}
		s.sleepUntil(end)
	}
	s.record.fail(Rest, "the program does not come to rest: %d requests and events since the last step\n%s", maxStimuli, s.rest.repeated())
}

// maxStimuli is the number of stimuli after which a run is given up. A step of a program that is correct takes
// a few hundred.
const maxStimuli = 50_000

// next waits for quiescence and picks a stimulus, or returns nil if there is none.
func (s *scheduler) next() stimulus {
	s.quiescence.wait()
	s.endHolds()
	s.endPast()
	stimuli := s.stimuli()
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

// stimuli returns all that can happen.
func (s *scheduler) stimuli() []stimulus {
	var all []stimulus
	for _, a := range s.enabled() {
		all = append(all, a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.pending {
		all = append(all, q)
	}
	for _, w := range s.watches {
		if _, held := s.holds[w.target.resource]; !held && (len(w.frames) > 0 || w.ended) {
			all = append(all, w)
		}
	}
	return all
}

// busyStimuli is the number of stimuli after which the clock advances by a second, although more are pending. A
// program that is busy until it receives an event that is held would never receive it.
const busyStimuli = 100

// passTime advances the clock by a second if all goroutines are blocked by something that the clock waits for, which
// a mutex is not.
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

// sleepUntil lets the clock advance until something happens, at most until end or the end of a hold.
func (s *scheduler) sleepUntil(end time.Time) {
	for _, h := range s.holds {
		if h.until.Before(end) {
			end = h.until
		}
	}
	s.watchdog.progress.Add(1)
	if !s.past.until.IsZero() && s.past.until.Before(end) {
		end = s.past.until
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-s.arrived:
	case <-timer.C:
	}
}

// endHolds delivers or loses the events of holds whose time has come.
func (s *scheduler) endHolds() {
	for resource, h := range s.holds {
		if time.Now().Before(h.until) {
			continue
		}
		delete(s.holds, resource)
		if !h.gap {
			s.record.note("", "the events of "+resource.Resource+" are delivered")
			continue
		}
		lost := s.loseEvents(resource)
		s.record.note("", strconv.Itoa(lost)+" events of "+resource.Resource+" are lost")
	}
}

// loseEvents ends the watches of a resource that have events. The next watches get 410. It returns the number
// of events.
func (s *scheduler) loseEvents(resource schema.GroupVersionResource) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := 0
	for _, w := range slices.Clone(s.watches) {
		if w.target.resource != resource || len(w.frames) == 0 {
			continue
		}
		lost += len(w.frames)
		w.frames, w.ended, w.round = nil, true, s.round
		w.cancel()
		s.server.InjectFault(1, func(r fake.APIRequest) bool { return r.Verb == "watch" && r.GroupVersionResource == resource },
			fake.RequestFault{Err: apierrors.NewResourceExpired("too old resource version")})
	}
	return lost
}

// serve executes a request, with the disturbances that are planned for it.
func (s *scheduler) serve(q *request) {
	switch {
	case q.target.verb == "watch":
		s.openWatch(q)
		return
	case !q.target.isWrite(), q.target.isTraffic():
		q.respond(s.execute(q, fake.RequestFault{}).response())
		return
	}
	name := nameOf(q.body)
	q.point = s.points.next(q.target, name)
	s.record.points = append(s.record.points, q.point)
	s.disturb(q, name, s.plan.at(q.point))
}

// disturb executes a write with its disturbances.
func (s *scheduler) disturb(q *request, name objectName, disturbances []Disturbance) {
	e := effects{target: q.target}
	for _, d := range disturbances {
		s.disturbed = true
		s.record.happened = append(s.record.happened, d)
		s.record.note("", d.String())
		d.affect(&e)
	}
	if e.past > 0 {
		s.past = past{process: q.process.number, until: time.Now().Add(e.past), version: s.restedAt}
	}
	if e.crashBefore {
		q.fail(errRefused)
		s.crash(q.process)
		return
	}
	if e.hold > 0 {
		s.holds[q.target.resource] = hold{until: time.Now().Add(e.hold), gap: e.gap}
	}
	response := s.execute(q, fake.RequestFault{Err: e.err})
	s.noteGenerated(q, name, response)
	if !e.crashAfter && !e.lost {
		q.respond(response.response())
		return
	}
	q.fail(errReset)
	if e.crashAfter {
		s.crash(q.process)
	}
}

// execute calls the server's handler with a request.
func (s *scheduler) execute(q *request, fault fake.RequestFault) *recorder {
	fault.ResourceVersion = s.readVersion(q)
	if fault != (fake.RequestFault{}) {
		s.server.InjectFault(1, nil, fault)
	}
	response := newRecorder()
	before := s.beforeWrite(q)
	s.server.ServeHTTP(response, q.http)
	s.record.request(q, response.code, s.server.ResourceVersion())
	s.afterWrite(q, before)
	return response
}

// readVersion returns the version that a request reads at, or "" for the newest.
func (s *scheduler) readVersion(q *request) string {
	if q.process.number != s.past.process || q.target.isWrite() || q.target.resource.Empty() || !time.Now().Before(s.past.until) {
		return ""
	}
	return s.past.version
}

// endPast ends the watches that were opened in the past.
func (s *scheduler) endPast() {
	if s.past.until.IsZero() || time.Now().Before(s.past.until) {
		return
	}
	s.past = past{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if w.inPast {
			w.ended, w.round = true, s.round
			w.cancel()
		}
	}
}

// noteGenerated notes the name that the server has generated for an object.
func (s *scheduler) noteGenerated(q *request, name objectName, response *recorder) {
	if q.target.verb != "create" || name.GenerateName == "" || name.Name != "" || response.code != http.StatusCreated {
		return
	}
	created := nameOf(response.body.Bytes())
	s.points.generated(q.target, name.GenerateName, created.Name)
}

// crash ends a process: its requests and watches fail, and its context is cancelled.
func (s *scheduler) crash(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.dead, p.stopping = true, true
	for _, q := range s.pending {
		if q.process == p {
			q.fail(errRefused)
		}
	}
	s.pending = slices.DeleteFunc(s.pending, func(q *request) bool { return q.process == p })
	for _, w := range slices.Clone(s.watches) {
		if w.process == p {
			w.end(errReset)
		}
	}
	p.cancel()
}

// maxRestarts is the number of restarts in a run after which the program is not started again.
const maxRestarts = 20

// reviveProcesses starts the replicas again whose Start has returned after a crash, or with an error that
// a disturbance has caused. Any other return is a failure.
func (s *scheduler) reviveProcesses() {
	for i, p := range s.processes {
		if !p.hasReturned() || s.stopped {
			continue
		}
		switch {
		case p.panicked != "":
			s.record.fail(Panic, "Start panicked: %s", p.panicked)
			return
		case !p.stopping && (!s.disturbed || p.err == nil):
			s.record.fail(Return, "Start returned while its context is not cancelled: %v", p.err)
			return
		}
		s.crash(p)
		s.processes = slices.Delete(s.processes, i, i+1)
		if s.restarts++; s.restarts > maxRestarts {
			s.record.fail(Return, "Start has returned %d times, the last time with %v", s.restarts, p.err)
			return
		}
		s.record.note(p.name(), "is started again")
		s.start(p.number)
		return
	}
}
