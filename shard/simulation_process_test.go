// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
)

// process is a process that runs a member, and writes to the objects of its slots.
type process struct {
	name    string // the identity, and a number
	member  *Member
	clock   *simulatedClock
	gate    *gate
	network *network
	server  *simulatedServer
	random  *rand.Rand // for the writer

	cancel func()
	done   chan struct{} // closed when Run has returned
	err    error         // of Run, once that is done

	mu       sync.Mutex
	stopping bool
	dead     bool
	differs  time.Time // since when the scopes are not the slots, for checkScopes
}

// startProcess starts a process. identity may be that of another process, which has ended or is
// paused.
func startProcess(t *testing.T, server *simulatedServer, number int, options Options, s schedule, rate float64) *process {
	t.Helper()
	gate := &gate{}
	seed := s.seed<<8 + uint64(number)
	p := &process{
		name: fmt.Sprintf("%s#%d", options.Identity, number), gate: gate, server: server, done: make(chan struct{}),
		clock:   newSimulatedClock(gate, rate, time.Now().Add(time.Duration(number)*time.Hour)),
		network: newNetwork(server, gate, seed, s.latency), random: rand.New(rand.NewPCG(seed, 2)),
	}
	var err error
	if p.member, err = newMember(p.network, options, p.clock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	p.cancel = cancel
	server.add(p)
	go func() {
		defer close(p.done)
		p.err = p.member.Run(ctx)
	}()
	go p.write(ctx)
	return p
}

// stop stops the process gracefully.
func (p *process) stop() {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	p.cancel()
}

// crash ends the process: it does and owns nothing any more.
func (p *process) crash() {
	p.mu.Lock()
	p.stopping, p.dead = true, true
	p.mu.Unlock()
	p.network.set(func(n *network) { n.dead = true })
	p.cancel()
}

func (p *process) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// owned returns the incarnation and the transitions of the slots whose contexts have not ended.
// Unlike Member.Slots, it changes nothing.
func (p *process) owned() (incarnation string, transitions map[int]int32) {
	if p.isDead() {
		return "", nil
	}
	p.member.mu.Lock()
	defer p.member.mu.Unlock()
	transitions = make(map[int]int32)
	for number, slot := range p.member.owned {
		if slot.ctx.Err() == nil && slot.term.left() > 0 {
			transitions[number] = slot.Transition
		}
	}
	return p.member.status.Incarnation, transitions
}

// ranges returns the ranges of the slots that the member owns.
func (p *process) ranges() (ranges []cache.HashRange) {
	_, owned := p.owned()
	for number := range p.member.options.Slots {
		if _, ok := owned[number]; ok {
			ranges = append(ranges, rangeOf(p.member.options.HashField, number, p.member.options.Slots))
		}
	}
	return ranges
}

// scopes returns the ranges of the member's scopes, in ascending order.
func (p *process) scopes() (ranges []cache.HashRange) {
	for _, scope := range p.member.Scopes().All() {
		ranges = append(ranges, scope.Hash)
	}
	slices.SortFunc(ranges, func(a, b cache.HashRange) int { return cmp.Compare(a.First, b.First) })
	return ranges
}
