// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/internal/scope"
)

const simulatedObjects = 40

// object is an object of the collection, with the stamp of its last writer.
type object struct {
	version    int // 0 if it has no stamp yet
	slot       int
	transition int32
}

// write stamps objects until ctx ends.
func (p *process) write(ctx context.Context) {
	for {
		select {
		case <-time.After(upTo(p.random, 4*time.Second)):
		case <-ctx.Done():
			return
		}
		p.gate.wait()
		if !p.isDead() {
			p.stamp(p.random.IntN(simulatedObjects))
		}
	}
}

// stamp reads an object, checks the context of its slot, and writes to the object, as a controller
// does. The write may be delayed on its way, or the process may be stopped between the check and
// the write.
func (p *process) stamp(number int) {
	read := p.server.read(number)
	uid := fmt.Sprintf("object-%d", number)
	slot, ok := p.member.Slot(&metav1.ObjectMeta{UID: types.UID(uid)})
	if !ok {
		return
	}
	ctx, cancel := slot.Context(context.Background())
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	p.server.began(p, slot, slotOf(scope.HashOf(uid), p.member.options.Slots))
	delay := time.Duration(0)
	if p.random.IntN(4) == 0 {
		delay = upTo(p.random, 40*time.Second)
	}
	written := object{read.version + 1, slot.Number, slot.Transition}
	time.AfterFunc(delay, func() { p.server.stamp(number, read, written) })
}

func (s *simulatedServer) read(number int) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[number]
}

// began checks that a write which begins is one of the slot's owner.
func (s *simulatedServer) began(p *process, slot *Slot, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.isDead() || slot.err() != nil {
		return
	}
	if slot.Number != of {
		s.failf("%s writes to an object of slot %d with the context of slot %d", p.name, of, slot.Number)
	}
	if got := s.ownerNow(slot.Number); got.transition != slot.Transition {
		s.failf("%s begins a write to slot %d, transition %d; its Lease names %+v", p.name, slot.Number, slot.Transition, got)
	}
}

// stamp writes to an object, if it has not changed since it was read. The transition of its stamp
// must not fall.
func (s *simulatedServer) stamp(number int, read, written object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.objects[number]
	if stored.version != read.version {
		return
	}
	if written.transition < stored.transition {
		s.failf("object %d: the stamp of transition %d follows %d", number, written.transition, stored.transition)
	}
	if s.isLate(written) {
		s.late++
	}
	s.stamps++
	s.objects[number] = written
}

// isLate reports whether an object of the slot has a stamp of a newer owner.
func (s *simulatedServer) isLate(written object) bool {
	for _, o := range s.objects {
		if o.version > 0 && o.slot == written.slot && o.transition > written.transition {
			return true
		}
	}
	return false
}
