// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// TestSlotIsNotFreeWhileItsMemberIsNotSeen puts the Lease of a slot into a view that has not seen
// yet that its owner holds its member Lease, since the events of a list, or of a handler that lags,
// need not be in the order of the writes.
func TestSlotIsNotFreeWhileItsMemberIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{Group: "web", Identity: "a"}.withDefaults()
		v := newView(options, newSystemClock())
		first := leaseWithUID(options.memberLease("a_1", time.Now()))
		second := first.DeepCopy()
		hold(second, "a_2", options.LeaseDuration, time.Now())
		v.put(first)
		v.put(options.takenBy(3, nil, 1, first, time.Now()))
		expectFree(t, v, false)
		<-time.After(time.Second)
		v.put(options.takenBy(3, nil, 2, second, time.Now()))
		expectFree(t, v, false)
		<-time.After(time.Second)
		v.put(second)
		expectFree(t, v, false)
		<-time.After(time.Second)
		v.put(withoutHolder(second))
		expectFree(t, v, true)
	})
}

func leaseWithUID(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease.UID = "1"
	return lease
}

func expectFree(t *testing.T, v *view, free bool) {
	t.Helper()
	if got := v.states()[3]; got.free != free {
		t.Errorf("slot of %+v: free %v, want %v", got.last, got.free, free)
	}
}

// TestViewForgetsFormerMembers lets Pods of a Deployment come and go.
func TestViewForgetsFormerMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{Group: "web", Identity: "a"}.withDefaults()
		v := newView(options, newSystemClock())
		for n := range 100 {
			former := options
			former.Identity = fmt.Sprintf("pod-%d", n)
			lease := former.memberLease("1", time.Now())
			v.put(lease)
			v.remove(lease)
			<-time.After(options.LeaseDuration)
		}
		if len(v.gone) > 2 {
			t.Errorf("the view has %d former members", len(v.gone))
		}
	})
}
