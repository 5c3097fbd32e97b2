// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

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
	// Err is the error of the last failed request, except those of the informer of Leases, which are
	// logged only. It is nil after a successful renewal.
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

// repeatAfter is how long an error is not logged again.
const repeatAfter = 5 * time.Minute

// report records an error in the status, and logs it if it is new.
func (m *Member) report(ctx context.Context, action string, err error) {
	if ctx.Err() != nil {
		return
	}
	failed := fmt.Errorf("%s: %w", action, err)
	m.setStatus(func(s *Status) { s.Err = failed })
	if m.isNew(failed) {
		klog.FromContext(ctx).Error(err, "Sharding request failed, will be repeated", "action", action)
	}
}

// isNew reports whether an error is new: it was not logged within repeatAfter. Errors that differ
// only in digits, as those of several slots do, count as one.
func (m *Member) isNew(err error) bool {
	text := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
	now := m.clock.now().monotonic
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.logged, func(_ string, at time.Duration) bool { return now-at >= repeatAfter })
	_, known := m.logged[text]
	if !known {
		m.logged[text] = now
	}
	return !known
}
