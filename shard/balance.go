// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// balance takes free slots and gives up those above the fair share, until ctx ends.
func (i *incarnation) balance(ctx context.Context) {
	for ctx.Err() == nil {
		wait := i.options.RetryPeriod
		if i.term.left() > 0 {
			wait = min(wait, i.step(ctx))
		}
		expired, stop := i.clock.after(wait)
		select {
		case <-i.view.changed:
		case <-expired:
		case <-ctx.Done():
		}
		stop()
	}
}

// step does what is due, and returns the time until something else is.
func (i *incarnation) step(ctx context.Context) time.Duration {
	i.loseEnded(ctx)
	i.refresh(ctx)
	if ctx.Err() != nil {
		return 0
	}
	states := i.view.states()
	i.reconcile(ctx, states)
	plan := i.plan(states)
	for _, lease := range plan.expire {
		i.update(ctx, "expire the Lease of another member", expired(lease))
	}
	if i.take(ctx, plan.take) || len(plan.take) == 0 {
		i.noteAssigned()
	}
	if ctx.Err() != nil {
		return 0
	}
	if peers, _ := i.view.summary(); slices.ContainsFunc(peers, func(p Peer) bool { return p.Identity == i.options.Identity }) {
		i.notePrograms(ctx, peers)
		i.noteCrowded(ctx, peers)
	}
	i.giveUp(ctx, plan.giveUp)
	i.release(ctx, states)
	for _, lease := range plan.collect {
		if i.send(ctx, "delete the Lease of a former member", lease, func(ctx context.Context) error {
			only := &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
			return i.leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: only})
		}) {
			i.view.deleted(lease.Name)
		}
	}
	return plan.next
}

// refresh lists the Leases if the watch does not show all changes.
func (i *incarnation) refresh(ctx context.Context) {
	i.noteStale(ctx, i.view.staleFor())
	if !i.view.isListDue() {
		return
	}
	all := i.options.newLease("", nil) // for the budget
	i.send(ctx, "list the Leases of the group", all, func(ctx context.Context) error {
		events, sent := i.view.beginList()
		list, err := i.leases.List(ctx, metav1.ListOptions{LabelSelector: i.options.selector().String()})
		if err == nil {
			i.view.replace(list, events, sent)
		}
		return err
	})
}

// update sends an update of a Lease.
func (i *incarnation) update(ctx context.Context, action string, lease *coordinationv1.Lease) {
	i.send(ctx, action, lease, func(ctx context.Context) error {
		updated, err := i.leases.Update(ctx, lease, metav1.UpdateOptions{})
		if err == nil {
			i.view.wrote(updated)
		}
		return err
	})
}

// send sends a request for a state of a Lease that others may write, too, if the budget allows it.
// A conflict means that they have. It reports whether the request has succeeded.
func (i *incarnation) send(ctx context.Context, action string, lease *coordinationv1.Lease, request func(context.Context) error) bool {
	if ctx.Err() != nil || !i.budget.allows(lease.Name, lease.ResourceVersion) {
		return false
	}
	lasting, cancel := i.lasting(ctx, i.options.RenewDeadline)
	defer cancel()
	err := request(lasting)
	i.budget.spend(lease.Name, lease.ResourceVersion, err)
	if err != nil && !isLost(err) {
		i.report(ctx, action, err)
	}
	return err == nil
}

// reconcile compares the owned slots with the view. It owns a slot whose Lease names this
// incarnation although it is not owned: the response of the request was lost, or the term was over.
func (i *incarnation) reconcile(ctx context.Context, states []slotState) {
	gained := make(gains)
	for _, state := range states {
		slot := i.ownedSlot(state.slot)
		mine := state.lease != nil && state.last.incarnation == i.name && state.last.uid == i.member.UID
		given, ok := i.released[state.slot]
		switch {
		case mine && slot == nil && (!ok || given < state.last.transition):
			i.gain(gained, state.slot, state.lease, takeRegained)
		case !mine && ok && given <= state.last.transition:
			delete(i.released, state.slot)
		case !mine && slot != nil && (slot.Transition <= state.last.transition || slot.isRecreated(state.lease)):
			reason := errTaken
			if state.lease == nil {
				reason = errDeleted
			}
			i.lose(ctx, []int{state.slot}, reason)
		}
	}
	i.publishGains(ctx, gained)
}

// take makes this incarnation the owner of free slots. They are published together, since an
// informer lists ranges that are added together in one request. After a RetryPeriod it leaves the
// others to the next step, which knows what has changed meanwhile. It reports whether it took any.
func (i *incarnation) take(ctx context.Context, free []slotState) bool {
	gained := make(gains)
	began := i.clock.now()
	i.budget.sort(free)
	for _, state := range free {
		if i.term.left() == 0 || i.clock.now().elapsed(began) >= i.options.RetryPeriod {
			break
		}
		lease, ok := i.takeOne(ctx, state)
		if ctx.Err() != nil {
			break // leave makes the slot free
		}
		if ok {
			i.gain(gained, state.slot, lease, state.reason)
			i.view.wrote(lease)
		}
	}
	i.publishGains(ctx, gained)
	return len(gained) > 0
}

// takeOne writes the Lease of a slot, which names this incarnation then, and returns it, false if
// that fails.
func (i *incarnation) takeOne(ctx context.Context, state slotState) (taken *coordinationv1.Lease, ok bool) {
	transition := state.last.transition + 1
	lease := i.options.takenBy(state.slot, state.lease, transition, i.member, i.clock.now().wall)
	ok = i.send(ctx, "take a slot", lease, func(ctx context.Context) (err error) {
		if state.lease == nil {
			taken, err = i.leases.Create(ctx, lease, metav1.CreateOptions{})
		} else {
			taken, err = i.leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		return err
	})
	return taken, ok
}

// gains are the slots that a step has taken, by the reason.
type gains map[takeReason][]int

// gain owns the slot of a Lease, if the term is not over. The caller must call publishGains.
func (i *incarnation) gain(gained gains, number int, lease *coordinationv1.Lease, reason takeReason) {
	if i.term.left() == 0 {
		return
	}
	slot := i.newSlot(number, lease)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.owned[number] = slot
	i.status.Taken[string(reason)]++
	gained[reason] = append(gained[reason], number)
}

// publishGains passes the gained slots on, if there are any, and logs them.
func (i *incarnation) publishGains(ctx context.Context, gained gains) {
	for _, reason := range slices.Sorted(maps.Keys(gained)) {
		klog.FromContext(ctx).Info("Took slots", "slots", slotNumbers(gained[reason]), "reason", reason)
	}
	if len(gained) > 0 {
		i.publish(ctx)
	}
}

// giveUp ends slots, except those that have ended since the plan was made. release then makes their
// Leases free.
func (i *incarnation) giveUp(ctx context.Context, numbers []int) {
	for _, number := range numbers {
		if slot := i.ownedSlot(number); slot != nil {
			i.released[number] = slot.Transition
		}
	}
	i.lose(ctx, numbers, errGivenUp)
}

// release frees the Leases of slots that were given up.
func (i *incarnation) release(ctx context.Context, states []slotState) {
	for _, number := range slices.Sorted(maps.Keys(i.released)) {
		state := states[number]
		if state.lease == nil || state.last.incarnation != i.name || state.last.transition != i.released[number] {
			continue
		}
		i.update(ctx, "release a slot", withoutHolder(state.lease))
	}
}

// lose ends slots, except those that another goroutine has ended meanwhile.
func (i *incarnation) lose(ctx context.Context, numbers []int, reason error) {
	lost := i.removeOwned(numbers, reason)
	if len(lost) == 0 {
		return
	}
	klog.FromContext(ctx).Info("Lost slots", "slots", slotNumbers(lost), "reason", lossReasons[reason])
	i.publish(ctx)
}

// removeOwned ends slots, and returns those of them that were owned.
func (i *incarnation) removeOwned(numbers []int, reason error) (removed []int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, number := range numbers {
		if slot := i.owned[number]; slot != nil {
			slot.lose(reason)
			delete(i.owned, number)
			removed = append(removed, number)
		}
	}
	i.status.Lost[lossReasons[reason]] += uint64(len(removed))
	return removed
}

// loseEnded removes the slots that have ended because the term was over. Their scopes leave
// informers before the slots can be gained again, so that handlers receive their objects again.
func (i *incarnation) loseEnded(ctx context.Context) {
	var ended []int
	i.mu.Lock()
	for number, slot := range i.owned {
		if slot.err() != nil {
			ended = append(ended, number)
		}
	}
	i.mu.Unlock()
	i.lose(ctx, ended, errTermOver)
}

// loseAll ends all slots.
func (i *incarnation) loseAll(ctx context.Context, reason error) {
	i.mu.Lock()
	numbers := slices.Collect(maps.Keys(i.owned))
	i.mu.Unlock()
	i.lose(ctx, numbers, reason)
}
