// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// action is what a step of a simulated schedule does.
type action int

const (
	start     action = iota // starts a replica, again if it has ended
	startTwo                // starts two replicas at the same instant
	stop                    // stops it gracefully
	crash                   // ends its process
	restart                 // ends its process and starts another one of the same identity
	replace                 // starts another process of the same identity while the first is paused
	pause                   // stops its process, as SIGSTOP does; its clocks go on
	freeze                  // stops it while the response of its next write is on its way
	suspend                 // suspends its machine; its monotonic clock stands still
	jump                    // sets its wall clock
	partition               // holds its requests and events back
	stall                   // holds its events back
	lossy                   // loses or delays a third of its requests and responses
	cut                     // closes its watches
	down                    // makes the server refuse all requests
	stranger                // starts a replica with other options
	actions
)

func (a action) String() string {
	return [...]string{
		"start", "start two", "stop", "crash", "restart", "replace", "pause", "freeze", "suspend", "jump", "partition", "stall",
		"lossy", "cut", "down", "stranger",
	}[a]
}

// step is a step of a schedule.
type step struct {
	action  action
	replica int
	rate    float64       // of the clocks of a process that starts
	length  time.Duration // of a pause or a fault, or how far the wall clock is set
	wait    time.Duration // until the next step
}

func (s step) String() string {
	return fmt.Sprintf("%v r%d for %v, rate %.3f, then wait %v", s.action, s.replica, s.length, s.rate, s.wait)
}

// schedule is a program of the simulation.
type schedule struct {
	seed    uint64
	options Options
	latency time.Duration // up to which a request and its response take
	steps   []step
}

func (s schedule) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "schedule of seed %d: %d slots, Leases of %v, RenewDeadline %v, latency %v\n",
		s.seed, s.options.Slots, s.options.LeaseDuration, s.options.RenewDeadline, s.latency)
	for n, step := range s.steps {
		fmt.Fprintf(&text, "%3d. %v\n", n, step)
	}
	return text.String()
}

const simulatedReplicas = 6

// generator generates schedules.
type generator struct {
	*rand.Rand
	options Options
	alive   [simulatedReplicas]bool
}

func generate(seed uint64) schedule {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	g.options = Options{Group: "web", Slots: pick(g, 8, 12, 31)}
	if g.IntN(4) == 0 {
		g.options.LeaseDuration, g.options.RenewDeadline = 5*time.Second, 4*time.Second
	}
	g.options = g.options.withDefaults()
	s := schedule{seed: seed, options: g.options, latency: pick(g, 0, time.Millisecond, 40*time.Millisecond)}
	for range 1 + g.IntN(3) {
		s.steps = append(s.steps, g.start())
	}
	for range 5 + g.IntN(15) {
		s.steps = append(s.steps, g.step())
	}
	return s
}

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// start starts a replica that does not run, if there is one.
func (g *generator) start() step {
	s := g.timed(step{action: start, replica: g.choose(false)})
	g.alive[s.replica] = true
	return s
}

// choose returns a replica that runs, or one that does not, or any if there is none.
func (g *generator) choose(alive bool) int {
	for _, replica := range g.Perm(simulatedReplicas) {
		if g.alive[replica] == alive {
			return replica
		}
	}
	return g.IntN(simulatedReplicas)
}

func (g *generator) step() step {
	s := step{action: action(g.IntN(int(actions))), replica: g.choose(true)}
	switch s.action {
	case start, startTwo:
		return g.starting(s.action)
	case stop, crash:
		g.alive[s.replica] = false
	case restart, replace:
		g.alive[s.replica] = true
	case pause, freeze, suspend, jump, partition, stall, lossy, cut, down, stranger, actions:
	}
	return g.timed(s)
}

func (g *generator) starting(a action) step {
	s := g.start()
	s.action = a
	if a == startTwo {
		g.alive[(s.replica+1)%simulatedReplicas] = true
	}
	return s
}

// timed draws the times of a step.
func (g *generator) timed(s step) step {
	s.rate = g.rate()
	s.length = g.upTo(2 * g.options.LeaseDuration)
	if s.action == jump && g.IntN(2) == 0 {
		s.length = -s.length
	}
	s.wait = pick(g, 0, 0, g.upTo(g.options.RetryPeriod), g.upTo(g.options.LeaseDuration), g.upTo(2*g.options.LeaseDuration))
	return s
}

func (g *generator) upTo(d time.Duration) time.Duration { return upTo(g.Rand, d) }

// rate returns the rate of a process's clocks. The ratio of any two is less than
// LeaseDuration/RenewDeadline.
func (g *generator) rate() float64 {
	limit := math.Sqrt(g.options.clockRatio()) * 0.999
	return math.Pow(limit, pick(g, -1, 0, 1, 2*g.Float64()-1))
}

// clockRatio returns how much faster one clock may run than another.
func (o Options) clockRatio() float64 { return float64(o.LeaseDuration) / float64(o.RenewDeadline) }
