// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestReplicasShareSlots runs random schedules of replicas that join, leave, crash, are paused or
// suspended, whose clocks run at different rates and are set, and whose requests and events are
// lost or delayed. After each step, and each write of a Lease, it checks that no slot has two
// owners; at the end that the slots are divided fairly, and that the replicas then write nothing
// but renewals. To repeat a schedule that failed, run it by its name:
//
//	go test ./shard -run 'TestReplicasShareSlots/seed=17$'
func TestReplicasShareSlots(t *testing.T) {
	total := &coverage{actions: make(map[action]int)}
	for seed := range uint64(simulatedSchedules) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, generate(seed), total) })
		})
	}
	t.Logf("%+v", *total)
}

// coverage counts what schedules do.
type coverage struct {
	actions                map[action]int
	transitions, processes int
	stamps, late           int
}

// simulation is the execution of a schedule.
type simulation struct {
	*testing.T

	schedule schedule
	server   *simulatedServer
	current  map[int]*process // by replica
	started  int
	strange  []*process
	log      []string
	began    time.Time
	faults   []*fault
}

// fault is a fault that ends once.
type fault struct {
	once sync.Once
	end  func()
}

func simulate(t *testing.T, s schedule, total *coverage) {
	t.Helper()
	seedJitter()
	x := &simulation{T: t, schedule: s, server: newSimulatedServer(s.options), current: make(map[int]*process), began: time.Now()}
	for _, step := range s.steps {
		x.logf("%v", step)
		x.do(step)
		x.pass(step.wait)
		total.actions[step.action]++
	}
	x.finish()
	x.count(total)
}

func (x *simulation) logf(format string, args ...any) {
	x.log = append(x.log, fmt.Sprintf("%8v ", time.Since(x.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// fail ends the simulation.
func (x *simulation) fail(violation string) {
	x.Helper()
	for _, p := range x.server.running() {
		incarnation, slots := p.owned()
		x.logf("%s is %q and owns %v; status %+v", p.name, incarnation, slots, p.member.Status())
	}
	state := x.server.state()
	x.end()
	x.Fatalf("%s\n%v%s\n%s", violation, x.schedule, strings.Join(x.log, "\n"), strings.Join(state, "\n"))
}

// end ends all faults and processes.
func (x *simulation) end() {
	x.endFaults()
	x.server.mu.Lock()
	processes := slices.Clone(x.server.processes)
	x.server.mu.Unlock()
	for _, p := range processes {
		p.crash()
		<-p.done
	}
	<-time.After(2 * time.Minute) // all delayed requests arrive
}

// pass lets time pass, and checks the invariants.
func (x *simulation) pass(d time.Duration) {
	x.Helper()
	const tick = 500 * time.Millisecond
	for {
		synctest.Wait()
		if violation := x.server.checkNow(); violation != "" {
			x.fail(violation)
		}
		if d <= 0 {
			return
		}
		<-time.After(min(d, tick))
		d -= tick
	}
}

// do executes a step.
func (x *simulation) do(s step) {
	x.Helper()
	p := x.current[s.replica]
	switch s.action {
	case start, startTwo, restart:
		x.doStart(s, p)
		return
	case stranger:
		x.startStranger(s)
		return
	case down:
		x.fault(s.length, x.refuse(1), x.refuse(-1))
		return
	case stop, crash, replace, pause, freeze, suspend, jump, partition, stall, lossy, cut, actions:
	}
	if p != nil && !p.isStopping() {
		x.doTo(s, p)
	}
}

func (x *simulation) doStart(s step, p *process) {
	x.Helper()
	if s.action == restart && p != nil {
		p.crash()
	}
	x.start(s.replica, s.rate)
	if s.action == startTwo {
		x.start((s.replica+1)%simulatedReplicas, 1/s.rate)
	}
}

// start starts a replica that does not run.
func (x *simulation) start(replica int, rate float64) {
	x.Helper()
	if p := x.current[replica]; p != nil && !p.isStopping() {
		return
	}
	x.current[replica] = x.launch(replica, x.schedule.options, rate)
}

func (x *simulation) launch(replica int, options Options, rate float64) *process {
	x.Helper()
	options.Identity = fmt.Sprintf("r%d", replica)
	x.started++
	return startProcess(x.T, x.server, x.started, options, x.schedule, rate)
}

// doTo executes a step for a process that runs.
func (x *simulation) doTo(s step, p *process) {
	x.Helper()
	options := x.schedule.options
	switch s.action {
	case stop:
		p.stop()
	case crash:
		p.crash()
	case replace:
		x.fault(s.length, p.gate.close, p.gate.open)
		x.fault(s.length+options.LeaseDuration, func() {}, p.crash)
		x.current[s.replica] = x.launch(s.replica, options, s.rate)
	case pause:
		x.fault(s.length, p.gate.close, p.gate.open)
	case freeze:
		if p.network.freeze() {
			x.fault(s.length, func() {}, p.network.thaw)
		}
	case suspend:
		if p.clock.suspend(options) {
			x.fault(s.length, p.gate.close, func() { p.clock.resume(options); p.gate.open() })
		}
	case jump:
		p.clock.jump(s.length, options)
	case partition:
		x.fault(s.length, p.network.link.close, p.network.link.open)
	case stall:
		x.fault(s.length, p.network.events.close, p.network.events.open)
	case lossy:
		x.fault(s.length, p.network.addLossy(1), p.network.addLossy(-1))
	case cut:
		p.network.cut()
	case start, startTwo, restart, down, stranger, actions:
	}
}

// fault begins a fault, which ends after a while, or with the schedule.
func (x *simulation) fault(length time.Duration, begin, end func()) {
	begin()
	f := &fault{end: end}
	x.faults = append(x.faults, f)
	time.AfterFunc(length, f.stop)
}

func (f *fault) stop() { f.once.Do(f.end) }

func (x *simulation) endFaults() {
	for _, f := range x.faults {
		f.stop()
	}
}

// refuse returns a function that makes the server refuse requests, or undoes that.
func (x *simulation) refuse(by int) func() {
	return func() {
		x.server.mu.Lock()
		x.server.down += by
		processes := slices.Clone(x.server.processes)
		x.server.mu.Unlock()
		for _, p := range processes {
			p.network.cut()
		}
	}
}

// startStranger starts a replica whose options are not those of the group.
func (x *simulation) startStranger(s step) {
	x.Helper()
	options := x.schedule.options
	if _, err := x.server.get(options.Group); err != nil {
		return // it would determine the group's options
	}
	options.Slots += 1 + x.started%3
	p := x.launch(simulatedReplicas+len(x.strange), options, s.rate)
	p.stopping = true
	x.strange = append(x.strange, p)
}

// finish checks how the simulation ends, without faults.
func (x *simulation) finish() {
	x.Helper()
	if len(x.server.running()) == 0 {
		x.start(0, 1)
	}
	x.logf("all faults end")
	x.endFaults()
	for _, p := range x.server.running() {
		p.network.reset()
	}
	x.pass(x.bound())
	x.checkShares()
	x.pass(3 * x.schedule.options.LeaseDuration) // former members are deleted
	x.checkQuiet()
	x.checkStrangers()
	x.stopAll()
}

// bound returns the time after which the slots are divided fairly.
func (x *simulation) bound() time.Duration {
	options := x.schedule.options
	round := 2*options.renewInterval() + options.RetryPeriod
	bound := options.LeaseDuration + 10*time.Second + 3*round
	return time.Duration(float64(bound) * options.clockRatio())
}

// checkShares checks that each member has its share of the slots.
func (x *simulation) checkShares() {
	x.Helper()
	running := x.server.running()
	slices.SortFunc(running, func(a, b *process) int { return strings.Compare(a.name, b.name) })
	for rank, p := range running {
		want := (x.schedule.options.Slots + len(running) - 1 - rank) / len(running)
		if got := len(p.member.Slots()); got != want {
			x.fail(fmt.Sprintf("%s has %d slots, want %d", p.name, got, want))
		}
	}
}

// checkQuiet checks that nothing is written but renewals.
func (x *simulation) checkQuiet() {
	x.Helper()
	const renewals = 20
	options := x.schedule.options
	x.server.takeWrites()
	x.pass(renewals * options.renewInterval())
	writes := x.server.takeWrites()
	for _, p := range x.server.running() {
		name := "update " + p.member.options.memberLeaseName()
		if got := float64(writes[name]) / renewals / p.clock.rate; got < 0.9 || got > 1.1 {
			x.fail(fmt.Sprintf("%d renewals of %s in %d intervals", writes[name], p.name, renewals))
		}
		delete(writes, name)
	}
	if len(writes) > 0 {
		x.fail(fmt.Sprintf("writes after the slots are divided: %v", writes))
	}
}

// checkStrangers checks that replicas with other options do not run.
func (x *simulation) checkStrangers() {
	x.Helper()
	for _, p := range x.strange {
		select {
		case <-p.done:
			if !errors.Is(p.err, ErrGroupMismatch) {
				x.fail(fmt.Sprintf("%s with other options ended with %v", p.name, p.err))
			}
		default:
			x.fail(fmt.Sprintf("%s with other options runs", p.name))
		}
	}
}

// stopAll stops all replicas, which then hold no Leases.
func (x *simulation) stopAll() {
	x.Helper()
	for _, p := range x.server.running() {
		p.stop()
		<-p.done
		if lease, err := x.server.get(p.member.options.memberLeaseName()); err != nil || holderOf(lease) != "" || p.err != nil {
			x.fail(fmt.Sprintf("%s left its Lease as %v; Run returned %v", p.name, lease, p.err))
		}
	}
	x.pass(0)
	x.end()
}

func (x *simulation) count(total *coverage) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	total.processes += x.started
	total.transitions += len(x.server.owners)
	total.stamps += x.server.stamps
	total.late += x.server.late
}
