// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"math"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// plan is what a member is to do next, given what it has seen.
type plan struct {
	expire  []*coordinationv1.Lease // of members that have not renewed them
	collect []*coordinationv1.Lease // of former members
	take    []slotState
	giveUp  []int
	next    time.Duration // until something else is due
}

// planner makes a plan.
type planner struct {
	*incarnation
	result     plan
	now        time.Duration
	complete   time.Duration // until when the view has every change
	members    []memberState // the live ones with this one, by identity
	changed    time.Duration // when one joined or left
	states     []slotState
	owned      []int // slots of this member
	candidates []candidate
}

// plan returns what is due. All members make the same plan from the same view, except for the times
// after which each does what another one should have done.
func (i *incarnation) plan(states []slotState) plan {
	p := &planner{incarnation: i, now: i.clock.now().monotonic, complete: i.view.completeUntil(), states: states}
	p.result.next = math.MaxInt64
	p.members, p.changed = i.view.liveMembers()
	p.addSelf()
	p.addCandidates()
	p.planExpiry()
	p.planTaking()
	p.planGivingUp()
	for _, lease := range i.view.abandoned() {
		if p.isPreferred(lease.Name, p.members) {
			p.result.collect = append(p.result.collect, lease)
		}
	}
	return p.result
}

// addSelf adds this member, which may not be in the view yet, and sorts the members.
func (p *planner) addSelf() {
	isSelf := func(m memberState) bool { return m.identity == p.options.Identity }
	if !slices.ContainsFunc(p.members, isSelf) {
		p.members = append(p.members, memberState{identity: p.options.Identity, lease: p.member, expires: math.MaxInt64})
	}
	slices.SortFunc(p.members, func(a, b memberState) int { return cmp.Compare(a.identity, b.identity) })
}

// addCandidates counts the slots that the members have.
func (p *planner) addCandidates() {
	held := make(map[string]int)
	for _, state := range p.states {
		if p.ownedSlot(state.slot) != nil {
			p.owned = append(p.owned, state.slot)
		} else if !state.free && state.last.incarnation != p.name {
			held[state.last.member]++
		}
	}
	held[p.member.Name] = len(p.owned)
	for rank, m := range p.members {
		share := shareOf(rank, len(p.members), p.options.Slots)
		p.candidates = append(p.candidates, candidate{m.identity, held[m.lease.Name], share})
	}
}

func (p *planner) self() candidate {
	i := slices.IndexFunc(p.candidates, func(c candidate) bool { return c.identity == p.options.Identity })
	return p.candidates[i]
}

// planExpiry finds members whose Leases have been unchanged for too long. The one that is preferred
// for such a Lease expires it at once, and the others after a while. A view that is stale shows
// that a Lease was unchanged until its last list only: then the others act with their next list.
func (p *planner) planExpiry() {
	alive := slices.DeleteFunc(slices.Clone(p.members), func(m memberState) bool { return m.expires <= p.complete })
	for _, m := range p.members {
		if m.identity == p.options.Identity || !p.isProven(m.expires) {
			continue
		}
		if p.isPreferred(m.lease.Name, alive) || p.isProven(m.expires+p.delay(1, m.lease.Name)) {
			p.result.expire = append(p.result.expire, m.lease)
		}
	}
}

// isPreferred reports whether this member is the one to act on a Lease.
func (p *planner) isPreferred(lease string, among []memberState) bool {
	mine := preference(p.options.Identity, lease)
	return !slices.ContainsFunc(among, func(m memberState) bool { return preference(m.identity, lease) > mine })
}

// planTaking finds free slots to take. The members below their share divide them; after one
// RetryPeriod any of these takes a slot that is still free, and after two any member does.
func (p *planner) planTaking() {
	var free []int
	for _, state := range p.states {
		if state.free && p.ownedSlot(state.slot) == nil {
			free = append(free, state.slot)
		} else if !state.free && state.freeSince > 0 {
			p.isDue(state.freeSince)
		}
	}
	missing := p.self().share - p.self().held
	taker := assign(free, slices.Clone(p.candidates))
	for _, slot := range free {
		state := p.states[slot]
		switch {
		case taker[slot] == p.options.Identity:
		case len(p.result.take) < missing && p.isDue(state.freeSince+p.delay(1, p.options.slotLeaseName(slot))):
		case p.isDue(state.freeSince + p.delay(2, p.options.slotLeaseName(slot))):
			p.lastResort = p.now
		default:
			continue
		}
		p.result.take = append(p.result.take, state)
	}
}

// delay returns the time after which this member does what another one should have done: some
// RetryPeriods, and up to one more, which is the longer the lower its preference.
func (p *planner) delay(periods float64, lease string) time.Duration {
	disfavor := 1 - float64(preference(p.options.Identity, lease))/math.MaxUint64
	return time.Duration((periods + disfavor) * float64(p.options.RetryPeriod))
}

// planGivingUp finds the slots above the fair share, once the members have been the same for two
// renewals. Slots that no other member took in time are kept for a LeaseDuration.
func (p *planner) planGivingUp() {
	self := p.self()
	if self.held <= self.share {
		return
	}
	stable := p.changed + 2*p.options.renewInterval()
	if p.isDue(max(stable, p.lastResort+p.options.LeaseDuration)) {
		p.result.giveUp = leastPreferred(self.identity, p.owned, self.held-self.share)
	}
}

// isProven reports whether the view has every change until a time, and otherwise makes the plan end
// when it will.
func (p *planner) isProven(at time.Duration) bool { return p.isDue(at) && at <= p.complete }

// isDue reports whether a time has come, and otherwise makes the plan end then.
func (p *planner) isDue(at time.Duration) bool {
	if at <= p.now {
		return true
	}
	p.result.next = min(p.result.next, at-p.now)
	return false
}
