// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// freshness says how current a view is, by the renewals of the member's own Lease. A watch delivers
// the changes of all Leases in one order, so that one that shows a renewal has shown all earlier
// changes. One that does not show it within limit is stale.
type freshness struct {
	limit    time.Duration
	pending  renewal       // the oldest renewal that the watch has not shown; without a version if there is none
	complete time.Duration // the view has every change that was made before
}

// renewal is a renewal of the member's Lease.
type renewal struct {
	version string // of the Lease
	sent    time.Duration
	done    time.Duration // when the response arrived
}

// expect records a renewal, which the watch is to show.
func (f *freshness) expect(r renewal) {
	if f.pending.version == "" {
		f.pending = r
	}
}

// show records that the watch shows a version of the member's Lease.
func (f *freshness) show(version string) {
	if f.pending.version != "" && !isOlder(version, f.pending.version) {
		f.complete = max(f.complete, f.pending.sent)
		f.pending = renewal{}
	}
}

func (f *freshness) isStale(now time.Duration) bool {
	return f.pending.version != "" && now-f.pending.done >= f.limit
}

// completeUntil returns the time until which the view has every change, or, while the watch works,
// will have it shortly.
func (f *freshness) completeUntil(now time.Duration) time.Duration {
	if f.isStale(now) {
		return f.complete
	}
	return now
}

// isOlder reports whether a version is older than another one, false if they cannot be compared.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
