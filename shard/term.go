// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"sync"
	"time"
)

// term is the time for which an incarnation may act for its slots: Options.RenewDeadline since its
// last successful renewal was sent, by both clocks. It is over for good once it was revoked. Other
// members wait for LeaseDuration, which is longer, since they have seen that renewal.
type term struct {
	clock  processClock
	length time.Duration

	mu      sync.Mutex
	renewed instant
	revoked bool
}

// renew extends the term. sent is the time before the renewal was sent, so that the term does not
// depend on how long the request took.
func (t *term) renew(sent instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = sent
}

// revoke ends the term for good.
func (t *term) revoke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoked = true
}

// left returns how much of the term is left, zero if it is over.
func (t *term) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revoked {
		return 0
	}
	return max(0, t.length-t.clock.now().elapsed(t.renewed))
}

// sinceRenewal returns the time since the last successful renewal was sent.
func (t *term) sinceRenewal() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock.now().elapsed(t.renewed)
}
