// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

// Status is what a Member knows of its group.
type Status struct {
	// Incarnation is the identity with a random suffix, different for each time that the replica
	// has joined the group. It is empty while the replica is not a member.
	Incarnation string
	// Members is the number of members whose Leases have not expired, Owned the number of slots of
	// this one, and Free that of slots without an owner, as last seen.
	Members, Owned, Free int
	// Renewed is when the last successful renewal of the member's Lease was sent.
	Renewed time.Time
	// StaleSince is zero while the watch of the group's Leases shows each renewal of the member
	// within two fifths of LeaseDuration. Otherwise it is when the member sent the first renewal
	// that the watch has not shown.
	StaleSince time.Time
	// Err is the error of the last failed request, except those of the informer of Leases, which are
	// logged only. It is nil after a successful renewal. Once Run has returned because the group has
	// other options, it is that error.
	Err error
}

// Status returns the member's status.
func (m *Member) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := m.status
	status.Owned = len(m.slots())
	return status
}

func (m *Member) setStatus(set func(*Status)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	set(&m.status)
}

// fail records an error, if it is not nil.
func (m *Member) fail(err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Err, m.failure = err, err
}

var errStuck = errors.New("the watch does not show the renewals of this member")

// noteStale records for how long the watch of Leases has not shown what it should, and logs it if
// that is new.
func (m *Member) noteStale(ctx context.Context, age time.Duration) {
	var since time.Time
	if age > 0 {
		since = m.clock.now().wall.Add(-age)
	}
	m.mu.Lock()
	was := m.status.StaleSince
	if was.IsZero() || since.IsZero() {
		m.status.StaleSince = since
	}
	m.mu.Unlock()
	switch {
	case was.IsZero() && age > 0 && m.isNew(errStuck):
		klog.FromContext(ctx).Error(errStuck, "Watch of Leases is stuck, listing them instead")
	case !was.IsZero() && age == 0:
		klog.FromContext(ctx).V(2).Info("Watch of Leases is current again")
	}
}

// report records an error in the status, and logs it unless it was logged lately.
func (m *Member) report(ctx context.Context, action string, err error) {
	if ctx.Err() != nil {
		return
	}
	failed := fmt.Errorf("%s: %w", action, err)
	m.fail(failed)
	if m.isNew(failed) {
		klog.FromContext(ctx).Error(err, "Sharding request failed, will be repeated", "action", action)
	}
}

// isNew reports whether an error was not logged lately. Errors of several slots, which differ in
// digits, count as one.
func (m *Member) isNew(err error) bool {
	now := time.Time{}.Add(m.clock.now().monotonic)
	return m.errors.IsNew(err.Error(), now)
}
