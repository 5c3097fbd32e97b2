// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/cache"
)

// ErrNotOwner is wrapped by the cause of a slot's context that has ended: the member no longer owns
// the slot, or cannot know that it does.
var ErrNotOwner = errors.New("this replica does not own the slot")

// Slot is a part of the hash space that a member owns. It ends for good when the member loses or
// gives up the slot. A slot that is taken again is a new Slot. Its methods are safe for concurrent
// use.
type Slot struct {
	// Number is between 0 and Options.Slots, exclusively.
	Number int
	// Transition is the leaseTransitions of the slot's Lease: each new owner has a larger one than
	// all owners before it. A number can be used again only after the slot's Lease was deleted by
	// hand, or etcd was restored from a backup.
	Transition int32
	// Hash is the slot's range of hashes.
	Hash cache.HashRange
	// Incarnation is the owner's; see Status.
	Incarnation string

	lease types.UID
	term  *term
	ctx   context.Context // ends with the slot
	end   context.CancelCauseFunc
}

func (i *incarnation) newSlot(number int, lease *coordinationv1.Lease) *Slot {
	ctx, end := context.WithCancelCause(context.Background())
	hash := rangeOf(i.options.HashField, number, i.options.Slots)
	return &Slot{
		Number: number, Transition: transitionOf(lease), Hash: hash, Incarnation: i.name,
		lease: lease.UID, term: i.term, ctx: ctx, end: end,
	}
}

// isRecreated reports whether the Lease of the slot was deleted by hand, and lease, which may be
// nil, was created after that. Its transitions begin anew.
func (s *Slot) isRecreated(lease *coordinationv1.Lease) bool {
	return lease != nil && lease.UID != s.lease
}

// Context returns a context for writes to the slot's objects. It ends with parent, and as soon as
// the member may no longer own the slot; context.Cause then returns an error that wraps
// ErrNotOwner. Its Done and Err read the clocks, so that in a process that was stopped or suspended
// it has ended before timers expire. The caller must call cancel once it is done.
//
// A request that was sent before the context ended may still reach the server. So a write must also
// carry the resourceVersion of the object that it is computed from: see the package documentation.
//
// If a context with a timeout or a cancellation is needed, pass it as parent. A context that is
// derived from the result does not read the clocks: after the machine was resumed, it may end up to
// a RetryPeriod too late.
func (s *Slot) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	inner, end := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.ctx, func() { end(s.err()) })
	c := &slotContext{inner, s, end}
	c.check()
	return c, func() { stop(); end(context.Canceled) }
}

// slotContext is a context that ends with a slot. It checks the slot's term before each answer.
type slotContext struct {
	context.Context
	slot *Slot
	end  context.CancelCauseFunc
}

func (c *slotContext) check() {
	if err := c.slot.err(); err != nil {
		c.end(err)
	}
}

// Done implements context.Context.
func (c *slotContext) Done() <-chan struct{} {
	c.check()
	return c.Context.Done()
}

// Err implements context.Context.
func (c *slotContext) Err() error {
	c.check()
	return c.Context.Err()
}

// err returns nil while the member owns the slot. It ends the slot if the term is over.
func (s *Slot) err() error {
	if s.term.left() == 0 {
		s.lose(errTermOver)
	}
	return context.Cause(s.ctx)
}

// lose ends the slot. Only the first call has an effect.
func (s *Slot) lose(reason error) {
	s.end(fmt.Errorf("slot %d, transition %d: %w: %w", s.Number, s.Transition, ErrNotOwner, reason))
}

// rangeOf returns the hashes of a slot: the hash space is cut into slots of equal size.
func rangeOf(field cache.HashField, slot, slots int) cache.HashRange {
	first := firstHash(slot, slots)
	last := uint64(math.MaxUint64)
	if slot+1 < slots {
		last = firstHash(slot+1, slots) - 1
	}
	return cache.HashRange{Field: field, First: first, Last: last}
}

// firstHash returns slot * 2^64 / slots, rounded up.
func firstHash(slot, slots int) uint64 {
	quotient, remainder := bits.Div64(uint64(slot), 0, uint64(slots))
	if remainder > 0 {
		quotient++
	}
	return quotient
}

// slotOf returns the slot whose range contains a hash: hash * slots / 2^64.
func slotOf(hash uint64, slots int) int {
	high, _ := bits.Mul64(hash, uint64(slots))
	return int(high)
}
