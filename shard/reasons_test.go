// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// loggedReplica is a replica of group web with four slots, and what it logs of them.
type loggedReplica struct {
	*Member
	leases *refusingServer
	stop   func()

	mu    sync.Mutex
	lines []string
}

func startLogged(t *testing.T, server *leaseServer, identity string) *loggedReplica {
	t.Helper()
	r := &loggedReplica{leases: &refusingServer{leaseServer: server}}
	r.Member = newTestMember(t, r.leases, identity, withSlots(4))
	logger := funcr.New(func(_, line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines = append(r.lines, line)
	}, funcr.Options{})
	r.stop = runMember(klog.NewContext(t.Context(), logger), t, r.Member)
	return r
}

// expect checks the counts that are not zero: those of taken slots, "lost " before those of lost
// ones.
func (r *loggedReplica) expect(t *testing.T, name string, want map[string]uint64) {
	t.Helper()
	status := r.Status()
	got := maps.Clone(status.Taken)
	for reason, n := range status.Lost {
		got["lost "+reason] = n
	}
	if len(got) != 12 {
		t.Errorf("%s: %d reasons: %v", name, len(got), got)
	}
	maps.DeleteFunc(got, func(_ string, n uint64) bool { return n == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: slots by reason (-want +got):\n%s", name, diff)
	}
}

// TestSlotsAreCountedByReason moves four slots between replicas in each way that they can move.
func TestSlotsAreCountedByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newLeaseServer()
		a := startLogged(t, server, "a")
		<-time.After(time.Minute)
		a.expect(t, "a alone", map[string]uint64{"New": 4})
		b := startLogged(t, server, "b")
		<-time.After(time.Minute)
		a.expect(t, "a beside b", map[string]uint64{"New": 4, "lost Balanced": 2})
		b.expect(t, "b", map[string]uint64{"Balanced": 2})

		b.leases.refuseAll(true)
		<-time.After(11 * time.Second)
		b.expect(t, "b, which cannot renew", map[string]uint64{"Balanced": 2, "lost NotRenewed": 2})
		if s := b.Status(); s.Members != 2 || s.RenewalAge <= s.RenewDeadline || !apierrors.IsForbidden(s.Err) {
			t.Errorf("b cannot renew: %+v", s)
		}
		<-time.After(time.Minute)
		a.expect(t, "a has the slots of b", map[string]uint64{"New": 4, "Expired": 2, "lost Balanced": 2})
		b.leases.refuseAll(false)
		<-time.After(time.Minute)
		b.expect(t, "b is back", map[string]uint64{"Balanced": 4, "lost NotRenewed": 2})

		a.stop()
		<-time.After(10 * time.Second)
		a.expect(t, "a has stopped", map[string]uint64{"New": 4, "Expired": 2, "lost Balanced": 4, "lost Stopped": 2})
		b.expect(t, "b alone", map[string]uint64{"Balanced": 4, "Released": 2, "lost NotRenewed": 2})
		if s := a.Status(); s.Running || s.Members != 0 || s.Free != 0 || s.Owned != 0 || s.RenewalAge != 0 {
			t.Errorf("a has stopped: %+v", s)
		}

		if err := server.Delete(t.Context(), b.options.slotLeaseName(0), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		if s := b.Status(); s.Owned != 3 || s.Free != 1 {
			t.Errorf("a Lease was deleted: %+v", s)
		}
		<-time.After(time.Minute)
		b.expect(t, "a Lease was deleted", map[string]uint64{"Balanced": 4, "Released": 2, "LeaseDeleted": 1, "lost NotRenewed": 2, "lost LeaseDeleted": 1})
		b.stop()
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, line := range []string{`"slots"="0-3" "reason"="New"`, `"reason"="Expired"`, `"reason"="Balanced"`, `"reason"="Stopped"`} {
			if !slices.ContainsFunc(a.lines, func(logged string) bool { return strings.Contains(logged, line) }) {
				t.Errorf("a has not logged %s: %q", line, a.lines)
			}
		}
	})
}

// TestSlotTakenAgainAfterPauseIsCounted makes a replica fail to renew for longer than
// RenewDeadline, and not for LeaseDuration.
func TestSlotTakenAgainAfterPauseIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startLogged(t, newLeaseServer(), "a")
		<-time.After(time.Minute)
		a.leases.refuseAll(true)
		<-time.After(11 * time.Second)
		a.leases.refuseAll(false)
		<-time.After(time.Minute)
		a.expect(t, "a", map[string]uint64{"New": 4, "Regained": 4, "lost NotRenewed": 4})
		a.stop()
	})
}

// TestSlotsOfExpiredMembersAreFree checks that slots whose owners cannot renew count as free even
// if no member can expire the owners, and that no members are left then.
func TestSlotsOfExpiredMembersAreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newLeaseServer()
		a, b := startLogged(t, server, "a"), startLogged(t, server, "b")
		<-time.After(time.Minute)
		if s := a.Status(); s.Members != 2 || s.Free != 0 || s.Owned != 2 || s.Slots != 4 {
			t.Errorf("two members: %+v", s)
		}
		a.leases.refuseAll(true)
		b.leases.refuseAll(true)
		<-time.After(18 * time.Second)
		if s := a.Status(); s.Members != 0 || s.Free != 4 || s.Owned != 0 {
			t.Errorf("writes of Leases are refused: %+v", s)
		}
		a.leases.refuseAll(false)
		b.leases.refuseAll(false)
		a.stop()
		b.stop()
	})
}

func TestSlotNumbers(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "0-2,5,7-8": {8, 1, 0, 5, 2, 7}} {
		if got := slotNumbers(numbers); got != want {
			t.Errorf("slotNumbers(%v) = %q, want %q", numbers, got, want)
		}
	}
}

// TestSlotsOfCrashedReplicaAreExpired starts the only replica again under the same identity, which
// takes its own Lease over once that has expired.
func TestSlotsOfCrashedReplicaAreExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newLeaseServer()
		crashed := startLogged(t, server, "a")
		<-time.After(time.Minute)
		crashed.leases.refuseAll(true) // so that it cannot give its Lease up
		crashed.stop()
		again := startLogged(t, server, "a")
		<-time.After(time.Minute)
		again.expect(t, "again", map[string]uint64{"Expired": 4})
		again.stop()
	})
}

// TestSlotsOfDeletedMemberAreTaken deletes the Lease of a member by hand, which joins again at
// once.
func TestSlotsOfDeletedMemberAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newLeaseServer()
		a, b := startLogged(t, server, "a"), startLogged(t, server, "b")
		<-time.After(time.Minute)
		before := [2]map[string]uint64{a.Status().Taken, b.Status().Taken}
		if err := server.Delete(t.Context(), a.options.memberLeaseName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		if s := b.Status(); s.Free != 2 || s.Members != 2 || s.Owned != 2 {
			t.Errorf("the Lease of a was deleted: %+v", s)
		}
		<-time.After(time.Minute)
		if s := a.Status(); s.Free != 0 || s.Owned != 2 || s.Lost["LeaseDeleted"] != 2 || s.Lost["Expired"] != 0 {
			t.Errorf("a minute after the Lease of a was deleted: %+v", s)
		}
		taken := a.Status().Taken["LeaseDeleted"] + b.Status().Taken["LeaseDeleted"] - before[0]["LeaseDeleted"] - before[1]["LeaseDeleted"]
		if taken != 2 {
			t.Errorf("%d slots were taken since a Lease was deleted: %v, %v", taken, a.Status().Taken, b.Status().Taken)
		}
		a.stop()
		b.stop()
	})
}
