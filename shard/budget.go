// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// budget limits the requests of a member that fail, except renewals of its own Lease: ten at once,
// and three more per LeaseDuration. Requests that succeed cost nothing.
//
// A Lease whose state another member has changed counts as seen: it is not written again for a
// LeaseDuration, unless the view shows another state before. After other errors the pause begins
// with a RetryPeriod and doubles.
type budget struct {
	options Options
	clock   processClock
	left    float64
	at      time.Duration      // when left was computed
	failed  map[string]failure // by name of the Lease
}

// failure is a request for a Lease that has failed.
type failure struct {
	version string // of the Lease, empty if it did not exist
	at      time.Duration
	pause   time.Duration
}

const (
	failuresAtOnce   = 10
	failuresPerLease = 3 // per LeaseDuration
)

func newBudget(options Options, clock processClock) *budget {
	return &budget{options: options, clock: clock, left: failuresAtOnce, at: clock.now().monotonic, failed: make(map[string]failure)}
}

// allows reports whether a request for a state of a Lease may be sent.
func (b *budget) allows(name, version string) bool {
	now := b.clock.now().monotonic
	earned := float64(now-b.at) / float64(b.options.LeaseDuration) * failuresPerLease
	b.left, b.at = math.Min(b.left+earned, failuresAtOnce), now
	last, known := b.failed[name]
	return b.left >= 1 && (!known || last.version != version || now-last.at >= last.pause)
}

// spend records the result of a request.
func (b *budget) spend(name, version string, err error) {
	if err == nil {
		delete(b.failed, name)
		return
	}
	now := b.clock.now().monotonic
	maps.DeleteFunc(b.failed, func(_ string, f failure) bool { return now-f.at >= 2*b.options.LeaseDuration })
	pause := min(max(2*b.failed[name].pause, b.options.RetryPeriod), b.options.LeaseDuration)
	if isLost(err) {
		pause = b.options.LeaseDuration
	}
	b.left--
	b.failed[name] = failure{version, now, pause}
}

// sort moves slots whose requests have failed behind the others, the last failure to the end, so
// that they do not use up the budget of the others.
func (b *budget) sort(slots []slotState) {
	slices.SortStableFunc(slots, func(a, c slotState) int {
		return cmp.Compare(b.failed[b.options.slotLeaseName(a.slot)].at, b.failed[b.options.slotLeaseName(c.slot)].at)
	})
}
