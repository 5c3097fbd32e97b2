// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// incarnation is a member from the time it acquires its Lease until that expires. A replica whose
// Lease has expired joins the group again as another incarnation, and inherits nothing.
type incarnation struct {
	*Member
	name   string
	term   *term
	member *coordinationv1.Lease // the member's Lease as this incarnation acquired it

	// The following belong to balance.
	budget     *budget
	programs   []string      // of the members, as last logged
	released   map[int]int32 // transitions of slots given up, whose release the view may not show yet
	lastResort time.Duration // when it last took a slot beyond its share
	crowded    time.Duration // since when it has most of the group's objects, zero if it has not
}

// runIncarnation joins the group, and returns once the incarnation has ended, or ctx.
func (m *Member) runIncarnation(ctx context.Context) {
	i := m.join(ctx)
	if i == nil {
		return
	}
	logger := klog.FromContext(ctx)
	logger.Info("Joined the group", "incarnation", i.name, "program", m.options.Program)
	m.setIncarnation(i.name)
	m.setRenewed(i.term.renewed)
	living, end := context.WithCancelCause(ctx)
	done := make(chan struct{}, 2)
	go func() { i.renew(living, end); done <- struct{}{} }()
	go func() { i.endInTime(living); done <- struct{}{} }()
	i.balance(living)
	reason := errStopped
	if ctx.Err() == nil {
		reason = errExpired
		if errors.Is(context.Cause(living), errDeleted) {
			reason = errDeleted
		}
		logger.Info("Lease has expired, joining the group again", "incarnation", i.name, "reason", context.Cause(living))
	}
	i.term.revoke()
	i.loseAll(ctx, reason)
	end(nil)
	<-done
	<-done
	m.setIncarnation("")
	if ctx.Err() != nil {
		i.leave(ctx)
	}
}

// join acquires the member's Lease for a new incarnation. It waits while another process of the
// same identity renews it. It returns nil if ctx ends.
func (m *Member) join(ctx context.Context) *incarnation {
	name := m.options.Identity + "_" + rand.Text()[:8]
	var last observed
	for ctx.Err() == nil {
		sent := m.clock.now()
		lease, err := m.acquire(ctx, name, &last)
		if err == nil {
			i := &incarnation{Member: m, name: name, member: lease, released: make(map[int]int32), budget: newBudget(m.options, m.clock)}
			m.view.renewed(lease, sent.monotonic)
			i.term = &term{clock: m.clock, length: m.options.RenewDeadline, renewed: sent}
			i.lastResort = sent.monotonic - m.options.LeaseDuration
			return i
		}
		if !errors.Is(err, errHeld) && !isLost(err) {
			m.report(ctx, "acquire the member's Lease", err)
		}
		m.sleep(ctx, m.options.RetryPeriod)
	}
	return nil
}

var (
	errHeld  = errors.New("the Lease is held")
	errInUse = errors.New("another running process of the group has this identity")
)

// acquire creates the member's Lease, or takes it over once it has no holder, or was unchanged for
// as long as it lasts. last is the state that former calls have seen, and since when.
func (m *Member) acquire(ctx context.Context, name string, last *observed) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	now := m.clock.now()
	lease, err := m.leases.Get(ctx, m.options.memberLeaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return m.leases.Create(ctx, m.options.memberLease(name, now.wall), metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	if holderOf(lease) != "" && holderOf(lease) != name {
		if err := m.hasExpired(lease, last); err != nil {
			return nil, err
		}
		lease = expired(lease)
	}
	lease = m.options.withProgram(lease)
	setObjects(lease, 0, false)
	metav1.SetMetaDataLabel(&lease.ObjectMeta, groupLabel, m.options.Group) // by which the others find it
	hold(lease, name, m.options.LeaseDuration, now.wall)
	return m.leases.Update(ctx, lease, metav1.UpdateOptions{})
}

// hasExpired returns nil if a Lease was unchanged since last for as long as it lasts.
func (m *Member) hasExpired(lease *coordinationv1.Lease, last *observed) error {
	now := m.clock.now().monotonic
	if last.lease == nil || last.lease.UID != lease.UID || last.lease.ResourceVersion != lease.ResourceVersion {
		inUse := last.lease != nil && holderOf(last.lease) == holderOf(lease)
		*last = observed{lease: lease, at: now}
		if inUse {
			return errInUse
		}
	}
	if now-last.at < m.options.durationOf(lease) {
		return errHeld
	}
	return nil
}

// renew renews the member's Lease, until ctx ends or the Lease has expired. It then calls end.
func (i *incarnation) renew(ctx context.Context, end context.CancelCauseFunc) {
	wait, lease := i.options.renewInterval(), i.member
	for i.sleep(ctx, wait) {
		renewed, err := i.renewOnce(ctx, lease)
		switch {
		case err == nil:
			wait, lease = i.options.renewInterval(), renewed
		case errors.Is(err, errExpired):
			end(err)
			return
		default:
			i.report(ctx, "renew the member's Lease", err)
			wait = i.options.RetryPeriod
		}
	}
}

// lasting returns a context for a request. It ends with ctx or, if the member is stopped, up to a
// RetryPeriod later: client-go logs a request that is cut off as an error.
func (i *incarnation) lasting(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), errExpired) {
			i.sleep(lasting, i.options.RetryPeriod)
		}
		cancel()
	})
	return lasting, func() { stop(); cancel() }
}

// renewOnce renews the Lease, of which lease is the last known state. It sends a second request if
// the Lease has been changed by others than members, or by a renewal whose response was lost.
func (i *incarnation) renewOnce(stopping context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := i.lasting(stopping, i.options.RenewDeadline/4)
	defer cancel()
	renewed, err := i.updateLease(ctx, lease)
	if !isLost(err) || stopping.Err() != nil {
		return renewed, err
	}
	current, err := i.currentLease(ctx)
	if err != nil {
		return nil, err
	}
	return i.updateLease(ctx, current)
}

// currentLease reads the member's Lease. It returns errExpired if this incarnation no longer holds
// it.
func (i *incarnation) currentLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := i.leases.Get(ctx, i.member.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && lease.UID != i.member.UID:
		return nil, fmt.Errorf("%w: %w", errExpired, errDeleted)
	case err != nil:
		return nil, err
	case holderOf(lease) != i.name:
		return nil, errExpired
	}
	return lease, nil
}

// updateLease sends a renewal, and extends the term if it succeeds.
func (i *incarnation) updateLease(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	sent := i.clock.now()
	lease = lease.DeepCopy()
	lease.Spec.RenewTime = new(metav1.NewMicroTime(sent.wall))
	objects, known := i.objects()
	setObjects(lease, objects, known)
	renewed, err := i.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	if i.term.sinceRenewal() > 2*i.options.renewInterval() {
		i.view.restart() // perhaps others could not renew their Leases either
	}
	i.term.renew(sent)
	i.view.renewed(renewed, sent.monotonic)
	i.setRenewed(sent)
	i.view.wake()
	return renewed, nil
}

// endInTime ends all slots when the term is over. It looks at the clocks at least every
// RetryPeriod, as the wall clock may be set.
func (i *incarnation) endInTime(ctx context.Context) {
	for {
		left := i.term.left()
		if left == 0 {
			i.loseAll(ctx, errTermOver)
			left = i.options.RetryPeriod
		}
		if !i.sleep(ctx, min(left, i.options.RetryPeriod)) {
			return
		}
	}
}

// leave gives the member's Lease up, so that others take its slots at once. If that fails, they
// take them once the Lease has expired.
func (i *incarnation) leave(ctx context.Context) {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.options.RenewDeadline)
	defer cancel()
	for {
		lease, err := i.currentLease(stopping)
		if err == nil {
			_, err = i.leases.Update(stopping, withoutHolder(lease), metav1.UpdateOptions{})
		}
		switch {
		case err == nil || errors.Is(err, errExpired):
			return
		case isLost(err): // a renewal that was sent before has arrived in between
		case !i.sleep(stopping, i.options.RetryPeriod):
			klog.FromContext(ctx).Error(err, "Lease was not given up; others take the slots once it has expired")
			return
		}
	}
}

// isLost reports whether a write failed because another one came first.
func isLost(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}
