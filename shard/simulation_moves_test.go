// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestJoinOrLeaveMovesFewSlots starts replicas one after the other, and stops them again. Each time
// the slots are divided fairly within three rounds, and no more than the fewest possible and one
// for each member change their owner. Slots of a replica that stops have another owner within a
// RetryPeriod.
func TestJoinOrLeaveMovesFewSlots(t *testing.T) {
	for _, slots := range []int{8, 31, 96} {
		for seed := range uint64(movesSeeds) {
			t.Run(fmt.Sprintf("slots=%d,seed=%d", slots, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { joinAndLeave(t, slots, seed) })
			})
		}
	}
}

func joinAndLeave(t *testing.T, slots int, seed uint64) {
	t.Helper()
	s := generate(seed)
	s.options, s.latency = Options{Group: "web", Slots: slots}.withDefaults(), time.Millisecond
	x := &simulation{T: t, schedule: s, server: newSimulatedServer(s.options), current: make(map[int]*process), began: time.Now()}
	random := rand.New(rand.NewPCG(seed, 3))
	for _, replica := range random.Perm(simulatedReplicas) {
		x.moveFew(fmt.Sprintf("r%d joins", replica), func() { x.start(replica, 1) })
	}
	for _, replica := range random.Perm(simulatedReplicas)[1:] {
		x.moveFew(fmt.Sprintf("r%d stops", replica), x.current[replica].stop)
	}
	x.end()
}

// moveFew executes a change of the members, and checks how many slots it moves.
func (x *simulation) moveFew(name string, change func()) {
	x.Helper()
	before := x.held()
	transitions := maps.Clone(x.server.last)
	x.logf("%s", name)
	change()
	x.pass(x.schedule.options.RetryPeriod)
	if free := x.free(); free > 0 {
		x.fail(fmt.Sprintf("%s: %d slots are free after a RetryPeriod", name, free))
	}
	options := x.schedule.options
	x.pass(3*(2*options.renewInterval()+options.RetryPeriod) - options.RetryPeriod)
	x.checkShares()
	moved, members := 0, len(x.server.running())
	for slot, transition := range x.server.last {
		moved += int(transition - transitions[slot])
	}
	if fewest := x.fewest(before); moved > fewest+members {
		x.fail(fmt.Sprintf("%s: %d slots moved, %d would have been enough for %d members", name, moved, fewest, members))
	}
}

// held returns how many slots each process owns.
func (x *simulation) held() map[*process]int {
	held := make(map[*process]int)
	for _, p := range x.server.running() {
		held[p] = len(p.member.Slots())
	}
	return held
}

// fewest returns how many slots have a new owner at least.
func (x *simulation) fewest(before map[*process]int) (n int) {
	for p, owned := range x.held() {
		n += max(0, owned-before[p])
	}
	return n
}

// free returns the number of slots without an owner.
func (x *simulation) free() int {
	free := x.schedule.options.Slots
	for _, owned := range x.held() {
		free -= owned
	}
	return free
}
