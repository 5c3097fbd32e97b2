// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kinformer/kinformer/cache"
)

// view is what a member has seen of its group's Leases, and when by its monotonic clock. Unlike the
// wall clock, it does not advance while the member is suspended and cannot see anything.
type view struct {
	options Options
	clock   processClock
	changed chan struct{} // receives a value when an owner or a member has changed

	mu             sync.Mutex
	members        map[string]observed      // by name of the Lease
	slots          []observed               // by number; the Lease is nil if there is none
	gone           map[string]time.Duration // when the deletion of a Lease was seen
	membersChanged time.Duration            // when a member joined or left
	from           time.Duration            // since when the view is known to be complete
	fresh          freshness
	listed         string        // resourceVersion of the last list; the watch's states up to it are older
	nextList       time.Duration // when the Leases may be listed again
	missed         bool          // the watch has dropped a Lease that a list has in a later state
	events         uint64        // of the watch
}

// observed is a state of a Lease.
type observed struct {
	lease   *coordinationv1.Lease
	at      time.Duration // when the state was first seen
	created time.Duration // when a state with its UID was first seen
}

func newView(options Options, clock processClock) *view {
	v := &view{
		options: options, clock: clock, changed: make(chan struct{}, 1),
		members: make(map[string]observed), slots: make([]observed, options.Slots), gone: make(map[string]time.Duration),
	}
	v.membersChanged, v.from = v.now(), v.now()
	v.fresh = freshness{limit: 2 * options.renewInterval(), complete: v.now()}
	return v
}

func (v *view) now() time.Duration { return v.clock.now().monotonic }

// handler returns the handler of an informer of Leases.
func (v *view) handler() cache.EventHandler[*coordinationv1.Lease] {
	return cache.ResourceEventHandlerFuncs[*coordinationv1.Lease]{
		AddFunc:    v.put,
		UpdateFunc: func(_, lease *coordinationv1.Lease) { v.put(lease) },
		DeleteFunc: v.remove,
	}
}

// put records a state of a Lease that the watch shows.
func (v *view) put(lease *coordinationv1.Lease) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events++
	if lease.Name == v.options.memberLeaseName() {
		v.fresh.show(lease.ResourceVersion)
	}
	if !v.isListed(lease) {
		v.record(lease)
	}
}

// wrote records the state of a Lease that a write of this member has made, which a stale watch does
// not show. The watch may have shown later states before the response arrived.
func (v *view) wrote(lease *coordinationv1.Lease) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.known(lease.Name)
	if known.lease == nil || !isOlder(lease.ResourceVersion, known.lease.ResourceVersion) {
		v.record(lease)
	}
}

// isListed reports whether the last list had a state of the watch, or a later one. The caller holds
// mu.
func (v *view) isListed(lease *coordinationv1.Lease) bool {
	return v.listed != "" && (lease.ResourceVersion == v.listed || isOlder(lease.ResourceVersion, v.listed))
}

// record records a state of a Lease, unless it is known. The caller holds mu.
func (v *view) record(lease *coordinationv1.Lease) {
	now := observed{lease: lease, at: v.now(), created: v.now()}
	if slot, ok := v.options.slotNumber(lease.Name); ok {
		if _, gone := v.gone[lease.Name]; !gone && v.slots[slot].isState(lease) {
			return
		}
		v.slots[slot] = now
		delete(v.gone, lease.Name)
		v.signal()
		return
	}
	if _, ok := v.options.identityOf(lease.Name); !ok {
		return
	}
	old, known := v.members[lease.Name]
	if old.isState(lease) {
		return
	}
	if known && old.lease.UID == lease.UID {
		now.created = old.created
	}
	v.members[lease.Name] = now
	delete(v.gone, lease.Name)
	if !known || holderOf(old.lease) != holderOf(lease) || old.lease.UID != lease.UID {
		v.membersChanged = now.at
		v.signal()
	}
}

// isState reports whether a Lease was observed in the same state before.
func (o observed) isState(lease *coordinationv1.Lease) bool {
	return o.lease != nil && o.lease.UID == lease.UID && o.lease.ResourceVersion == lease.ResourceVersion && lease.ResourceVersion != ""
}

// remove records a deletion of a Lease that the watch shows. A relist of the informer has the last
// state that the informer knows, which may be older than the one of a list.
func (v *view) remove(lease *coordinationv1.Lease) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events++
	if v.isListed(lease) && !v.known(lease.Name).isState(lease) {
		v.missed = true
		v.signal()
		return
	}
	v.drop(lease.Name)
}

// deleted records that this member has deleted a Lease.
func (v *view) deleted(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop(name)
}

// known returns the last state of a Lease. The caller holds mu.
func (v *view) known(name string) observed {
	if slot, ok := v.options.slotNumber(name); ok {
		return v.slots[slot]
	}
	return v.members[name]
}

// drop records that a Lease is gone. The caller holds mu.
func (v *view) drop(name string) {
	v.forgetGoneMembers()
	v.gone[name] = v.now() // the last state of a slot stays, for its transition
	if held, ok := v.members[name]; ok {
		delete(v.members, name)
		if holderOf(held.lease) != "" {
			v.membersChanged = v.now()
		}
	}
	v.signal()
}

// beginList returns the number of events so far, for replace.
func (v *view) beginList() (events uint64, sent time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.events, v.now()
}

// replace makes the Leases of a list the whole view. It ignores the list if the watch has delivered
// events since the request was sent: these may be later than the list, and the watch is not stuck.
func (v *view) replace(list *coordinationv1.LeaseList, events uint64, sent time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.nextList = v.now() + v.options.LeaseDuration
	if v.events != events {
		return
	}
	present := make(map[string]bool)
	for i := range list.Items {
		present[list.Items[i].Name] = true
		v.record(&list.Items[i])
	}
	for name := range v.members {
		if !present[name] {
			v.drop(name)
		}
	}
	for _, seen := range v.slots {
		if seen.lease == nil || present[seen.lease.Name] {
			continue
		}
		if _, gone := v.gone[seen.lease.Name]; !gone {
			v.drop(seen.lease.Name)
		}
	}
	v.listed, v.missed = list.ResourceVersion, false
	v.fresh.complete = max(v.fresh.complete, sent)
	v.signal()
}

// isListDue reports whether the member must list the Leases, since the watch does not show all
// changes: at most once per LeaseDuration.
func (v *view) isListDue() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return (v.missed || v.fresh.isStale(v.now())) && v.now() >= v.nextList
}

// staleFor returns how long ago the first renewal was sent that the watch should have shown, zero
// if there is none.
func (v *view) staleFor() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := v.now(); v.fresh.isStale(now) {
		return now - v.fresh.pending.sent
	}
	return 0
}

// completeUntil returns the time until which the view has every change. That a Lease is unchanged
// since is not known.
func (v *view) completeUntil() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fresh.completeUntil(v.now())
}

// renewed records that the member's Lease was written, by a request that was sent at a time.
func (v *view) renewed(lease *coordinationv1.Lease, sent time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.members[lease.Name].isState(lease) {
		v.fresh.expect(renewal{lease.ResourceVersion, sent, v.now()})
	}
}

// forgetGoneMembers forgets deletions of member Leases that were seen a LeaseDuration ago: no slot
// becomes free later because of them. The caller holds mu.
func (v *view) forgetGoneMembers() {
	maps.DeleteFunc(v.gone, func(name string, at time.Duration) bool {
		_, isMember := v.options.identityOf(name)
		return isMember && at+v.options.LeaseDuration <= v.now()
	})
}

// signal wakes the receiver of changed. The caller holds mu.
func (v *view) signal() {
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// wake makes changed receive a value.
func (v *view) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.signal()
}

// restart makes members expire no earlier than a LeaseDuration from now, for example because the
// API server was out of reach, perhaps for all members.
func (v *view) restart() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.from = v.now()
}

// slotState is what is known of a slot.
type slotState struct {
	slot  int
	lease *coordinationv1.Lease // nil if there is none
	last  owner
	// freeSince is when the slot became free, or will; it is not free before. reason is why.
	freeSince time.Duration
	free      bool
	reason    takeReason
}

// states returns the state of each slot.
func (v *view) states() []slotState {
	v.mu.Lock()
	defer v.mu.Unlock()
	states := make([]slotState, len(v.slots))
	for slot := range v.slots {
		states[slot] = v.stateOf(slot)
	}
	return states
}

// stateOf returns the state of a slot. A slot is free if its Lease has no holder, or one whose
// member Lease has another holder or none, since that changes only once the former has expired. If
// its member's Lease is gone, or has another UID, it was deleted by hand, and its holder may not
// know yet: the slot is free after LeaseDuration. So it is if the Lease of the slot itself is gone.
//
// The events of a list, or of a handler that lags, need not be in the order of the writes. So the
// view may have the slot's Lease before a state of its member's Lease that was written earlier.
func (v *view) stateOf(slot int) slotState {
	seen := v.slots[slot]
	if seen.lease == nil {
		return slotState{slot: slot, free: true, freeSince: v.from, reason: takeNew}
	}
	state := slotState{slot: slot, lease: seen.lease, last: ownerOf(seen.lease)}
	if at, gone := v.gone[seen.lease.Name]; gone {
		state.lease = nil
		state.setFree(at+v.options.LeaseDuration, v.now(), takeDeleted)
		return state
	}
	if state.last.incarnation == "" {
		state.setFree(seen.at, v.now(), takeBalanced)
		return state
	}
	member, known := v.members[state.last.member]
	switch {
	case known && member.lease.UID == state.last.uid && holderOf(member.lease) == state.last.incarnation:
	case known && member.lease.UID == state.last.uid && transitionOf(member.lease) < state.last.acquired: // not seen yet
	case known && member.lease.UID == state.last.uid:
		state.setFree(max(seen.at, member.at), v.now(), takeReleased)
		if member.lease.Annotations[expiredAnnotation] == state.last.incarnation {
			state.reason = takeExpired
		}
	default:
		missing := max(seen.at, v.from, member.created, v.gone[state.last.member])
		state.setFree(missing+v.options.LeaseDuration, v.now(), takeDeleted)
	}
	return state
}

func (s *slotState) setFree(since, now time.Duration, reason takeReason) {
	s.freeSince, s.free, s.reason = since, since <= now, reason
}

// summary returns the members whose Leases have not expired, by identity, and how many slots have
// no owner among these.
func (v *view) summary() (peers []Peer, free int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, seen := range v.members {
		if identity, _ := v.options.identityOf(name); holderOf(seen.lease) != "" && v.expires(seen) > v.fresh.completeUntil(v.now()) {
			peers = append(peers, Peer{Identity: identity, Program: seen.lease.Annotations[programAnnotation], Objects: objectsOf(seen.lease)})
		}
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.Identity, b.Identity) })
	owned := make(map[string]int) // by name of the member's Lease
	for slot := range v.slots {
		if state := v.stateOf(slot); state.free || state.lease == nil || !v.isAlive(state.last) {
			free++
		} else {
			owned[state.last.member]++
		}
	}
	for n, peer := range peers {
		peers[n].Slots = owned[v.options.Group+memberInfix+peer.Identity]
	}
	return peers, free
}

// isAlive reports whether the owner of a slot is a member whose Lease has not expired, as far as
// the view knows. The caller holds mu.
func (v *view) isAlive(o owner) bool {
	member, known := v.members[o.member]
	if !known || member.lease.UID != o.uid {
		return false
	}
	isHolder := holderOf(member.lease) == o.incarnation || transitionOf(member.lease) < o.acquired // not seen yet
	return isHolder && v.expires(member) > v.fresh.completeUntil(v.now())
}

// expires returns when the Lease of a member was seen unchanged for long enough. The caller holds
// mu.
func (v *view) expires(seen observed) time.Duration {
	return max(seen.at, v.from) + v.options.durationOf(seen.lease)
}

// memberState is what is known of a member.
type memberState struct {
	identity string
	lease    *coordinationv1.Lease
	// expires is when the Lease was seen unchanged for long enough.
	expires time.Duration
}

// liveMembers returns the members whose Leases have a holder, and when that last changed.
func (v *view) liveMembers() (members []memberState, changed time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, seen := range v.members {
		if identity, _ := v.options.identityOf(name); holderOf(seen.lease) != "" {
			members = append(members, memberState{identity, seen.lease, v.expires(seen)})
		}
	}
	return members, v.membersChanged
}

// abandoned returns the member Leases without a holder that no slot names, and have not changed for
// LeaseDuration.
func (v *view) abandoned() (leases []*coordinationv1.Lease) {
	v.mu.Lock()
	defer v.mu.Unlock()
	named := make(map[string]bool)
	for _, seen := range v.slots {
		if seen.lease != nil {
			named[seen.lease.Annotations[memberAnnotation]] = true
		}
	}
	for name, seen := range v.members {
		if holderOf(seen.lease) == "" && !named[name] && max(seen.at, v.from)+v.options.LeaseDuration <= v.fresh.completeUntil(v.now()) {
			leases = append(leases, seen.lease)
		}
	}
	return leases
}
