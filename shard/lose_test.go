// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// silentServer never responds to updates while it is cut off.
type silentServer struct {
	*leaseServer

	cutOff atomic.Bool
}

func (s *silentServer) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if s.cutOff.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.leaseServer.Update(ctx, lease, options)
}

// TestTermEndsBetweenPlanAndGivingUp makes the step in which a member gives slots up begin with a
// request without a response: it expires another member, until its own term is over.
func TestTermEndsBetweenPlanAndGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &silentServer{leaseServer: newLeaseServer()}
		a := startReplica(t, server, "a")
		synctest.Wait()
		joinAndCrash(server.leaseServer, "e") // a is preferred to expire its Lease
		<-time.After(5 * time.Second)
		joinAndCrash(server.leaseServer, "b")
		<-time.After(4 * time.Second)
		joinAndCrash(server.leaseServer, "d") // the members have been the same for two renewals when e expires
		<-time.After(5500 * time.Millisecond)
		server.cutOff.Store(true)
		<-time.After(15 * time.Second)
		synctest.Wait()
		expectOwned(t, a, 0)
		server.cutOff.Store(false)
		<-time.After(time.Minute)
		synctest.Wait()
		expectOwned(t, a, 32)
	})
}

// joinAndCrash creates the Lease of a member that does not renew it.
func joinAndCrash(server *leaseServer, identity string) {
	options := Options{Group: "web", Identity: identity}.withDefaults()
	server.leases.Create(options.memberLease(identity+"_1", time.Now()))
}

func TestSlotsAreLostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMember(t, newLeaseServer(), "a")
		i := m.join(t.Context())
		i.gain(make(gains), 3, i.options.takenBy(3, nil, 1, i.member, time.Now()), takeNew)
		if got := m.Slots(); len(got) != 1 {
			t.Fatalf("slots %v after one was gained", got)
		}
		i.lose(t.Context(), []int{3}, errTermOver)
		i.lose(t.Context(), []int{3}, errTaken) // by the other goroutine
		if got, lost := m.Slots(), m.Status().Lost; len(got) > 0 || lost["NotRenewed"] != 1 || lost["Taken"] != 0 {
			t.Errorf("slots %v after they were lost, %v", got, lost)
		}
	})
}
