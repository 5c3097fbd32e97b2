// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// replica is a member that runs.
type replica struct {
	*Member
	stop func()
}

func startReplica(t *testing.T, leases LeaseClient, identity string) replica {
	t.Helper()
	m := newTestMember(t, leases, identity)
	return replica{m, runMember(t.Context(), t, m)}
}

// newTestMember returns a member of group web, whose options may be changed.
func newTestMember(t *testing.T, leases LeaseClient, identity string, change ...func(*Options)) *Member {
	t.Helper()
	options := Options{Group: "web", Identity: identity}
	for _, change := range change {
		change(&options)
	}
	m, err := New(leases, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// withSlots sets the number of slots.
func withSlots(slots int) func(*Options) { return func(o *Options) { o.Slots = slots } }

// runMember runs a member until the returned function is called.
func runMember(ctx context.Context, t *testing.T, m *Member) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()
	stop = func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		stopped <- nil
	}
	t.Cleanup(stop)
	return stop
}

func TestMembersDivideTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		a := startReplica(t, leases, "a")
		synctest.Wait()
		expectOwned(t, a, 32)
		if got := a.Ranges(); len(got) != 1 || got[0] != (cache.HashRange{Field: cache.HashUID, Last: 1<<64 - 1}) {
			t.Errorf("ranges of all slots: %v", got)
		}
		b, c := startReplica(t, leases, "b"), startReplica(t, leases, "c")
		<-time.After(10 * time.Second)
		synctest.Wait()
		expectOwned(t, a, 11)
		expectOwned(t, b, 11)
		expectOwned(t, c, 10)
		b.stop()
		synctest.Wait()
		expectOwned(t, b, 0)
		expectOwned(t, a, 16)
		expectOwned(t, c, 16)
	})
}

func expectOwned(t *testing.T, r replica, n int) {
	t.Helper()
	if got := len(r.Slots()); got != n {
		t.Errorf("%s owns %d slots, want %d", r.options.Identity, got, n)
	}
	if got := len(r.Scopes().All()); got != n {
		t.Errorf("%s has %d scopes, want %d", r.options.Identity, got, n)
	}
}

func TestGroupRecord(t *testing.T) {
	own := Options{Group: "web", Identity: "a"}.withDefaults()
	if err := own.checkGroup(own.groupLease()); err != nil {
		t.Errorf("the replica's own record: %v", err)
	}
	for _, key := range []string{slotsAnnotation, fieldAnnotation, versionAnnotation} {
		lease := own.groupLease()
		lease.Annotations[key] = "other"
		if err := own.checkGroup(lease); !errors.Is(err, ErrGroupMismatch) {
			t.Errorf("record with another %s: %v", key, err)
		}
	}
}

func TestSlotsCoverTheHashSpace(t *testing.T) {
	for _, slots := range []int{1, 3, 32, 1000, maxSlots} {
		next := uint64(0)
		for slot := range slots {
			r := rangeOf(cache.HashUID, slot, slots)
			if r.First != next || slotOf(r.First, slots) != slot || slotOf(r.Last, slots) != slot {
				t.Fatalf("slot %d of %d: %x-%x", slot, slots, r.First, r.Last)
			}
			next = r.Last + 1
		}
		if next != 0 {
			t.Errorf("%d slots end at %x", slots, next)
		}
	}
}
