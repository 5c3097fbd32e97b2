// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestOwnerOfDeletedSlotLeaseEnds deletes the Lease of a slot, which another member creates again
// before the owner has seen the deletion. Its transitions begin anew.
func TestOwnerOfDeletedSlotLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		options := Options{Group: "web", Identity: "b"}.withDefaults()
		other := leaseWithUID(options.memberLease("b_1", time.Now()))
		leases.leases.Create(withoutHolder(options.takenBy(3, nil, 7, other, time.Now())))
		a := startReplica(t, leases, "a")
		synctest.Wait()
		expectOwned(t, a, 32)
		name := options.slotLeaseName(3)
		leases.leases.Delete(name)
		leases.leases.Create(options.takenBy(3, nil, 1, other, time.Now()))
		synctest.Wait()
		expectOwned(t, a, 31)
	})
}
