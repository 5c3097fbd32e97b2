// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSlotIsNotFreeWhileItsMemberIsNotSeen puts the Lease of a slot into a view that has not seen
// yet that its owner holds its member Lease, since the events of a list, or of a handler that lags,
// need not be in the order of the writes.
func TestSlotIsNotFreeWhileItsMemberIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, options := newTestView()
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

// newTestView returns the view of member a.
func newTestView() (*view, Options) {
	options := Options{Group: "web", Identity: "a"}.withDefaults()
	return newView(options, newSystemClock()), options
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
		v, options := newTestView()
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

// memberAt returns a state of the Lease of member b.
func memberAt(version, holder string) *coordinationv1.Lease {
	options := Options{Group: "web", Identity: "b"}.withDefaults()
	lease := leaseWithUID(options.memberLease(holder, time.Now()))
	lease.ResourceVersion = version
	return lease
}

func listAt(version string, leases ...*coordinationv1.Lease) *coordinationv1.LeaseList {
	list := &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, lease := range leases {
		list.Items = append(list.Items, *lease)
	}
	return list
}

// expectMember checks which state of the Lease of member b the view has, none if version is empty.
func expectMember(t *testing.T, v *view, version string) {
	t.Helper()
	got := ""
	if seen := v.known("web-member-b"); seen.lease != nil {
		got = seen.lease.ResourceVersion
	}
	if got != version {
		t.Errorf("the view has version %q of the Lease, want %q", got, version)
	}
}

// TestViewCombinesListsAndWatch lists the Leases, as if the watch were stuck, and lets the watch go
// on: the view must not go back.
func TestViewCombinesListsAndWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _ := newTestView()
		v.put(memberAt("5", "b_1"))
		events, sent := v.beginList()
		v.replace(listAt("9", memberAt("8", "b_1")), events, sent)
		expectMember(t, v, "8")
		v.put(memberAt("7", "b_1")) // the watch lags
		expectMember(t, v, "8")
		v.put(memberAt("10", "b_1"))
		expectMember(t, v, "10")

		events, sent = v.beginList()
		v.put(memberAt("12", "b_1"))
		v.replace(listAt("11", memberAt("10", "b_1")), events, sent) // its response was slow
		expectMember(t, v, "12")
		v.wrote(memberAt("11", "b_1")) // so was that of a write
		expectMember(t, v, "12")

		events, sent = v.beginList()
		v.replace(listAt("20"), events, sent) // b was deleted
		expectMember(t, v, "")
	})
}

// A relist of the informer misses the deletion of a Lease that the informer knows in an earlier
// state than the view. The Leases are listed again.
func TestDeletionOfListedLeaseCausesList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, options := newTestView()
		events, sent := v.beginList()
		v.replace(listAt("9", memberAt("8", "b_1")), events, sent)
		v.remove(memberAt("7", "b_1"))
		if v.isListDue() {
			t.Error("lists follow each other within a LeaseDuration")
		}
		<-time.After(options.LeaseDuration)
		if !v.isListDue() {
			t.Error("a deletion that the view cannot place causes no list")
		}
		v.remove(memberAt("8", "b_1"))
		expectMember(t, v, "")
	})
}

// A view is stale once the watch has not shown a renewal of the member itself for two fifths of
// LeaseDuration.
func TestViewIsStaleUntilItShowsOwnRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, options := newTestView()
		own := leaseWithUID(options.memberLease("a_1", time.Now()))
		<-time.After(time.Second)
		for _, version := range []string{"5", "6", "7"} {
			own = own.DeepCopy()
			own.ResourceVersion = version
			v.renewed(own, v.now())
			<-time.After(options.renewInterval())
		}
		if got := v.staleFor(); got != 3*options.renewInterval() {
			t.Errorf("the view is stale for %v", got)
		}
		if got := v.completeUntil(); got != 0 {
			t.Errorf("the view has every change until %v", got)
		}
		earlier := own.DeepCopy()
		earlier.ResourceVersion = "4"
		if v.put(earlier); v.staleFor() == 0 {
			t.Error("an earlier renewal makes the view current")
		}
		v.put(own)
		if got := v.staleFor(); got != 0 || v.completeUntil() != v.now() {
			t.Errorf("the view is stale for %v, has every change until %v", got, v.completeUntil())
		}
	})
}
