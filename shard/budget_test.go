// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusingServer refuses writes to some Leases for as long as refuse is set.
type refusingServer struct {
	*leaseServer

	refuse  atomic.Pointer[func(name string) error]
	refused atomic.Int64
}

func (s *refusingServer) check(name string) error {
	if refuse := s.refuse.Load(); refuse != nil {
		if err := (*refuse)(name); err != nil {
			s.refused.Add(1)
			return err
		}
	}
	return nil
}

func (s *refusingServer) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := s.check(lease.Name); err != nil {
		return &coordinationv1.Lease{}, err // as clients of client-go do
	}
	return s.leaseServer.Create(ctx, lease, options)
}

func (s *refusingServer) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := s.check(lease.Name); err != nil {
		return &coordinationv1.Lease{}, err
	}
	return s.leaseServer.Update(ctx, lease, options)
}

// refuseAll makes the server refuse all writes, or accept them again.
func (s *refusingServer) refuseAll(refuses bool) {
	if !refuses {
		s.refuse.Store(nil)
		return
	}
	s.refuse.Store(new(forbidden))
}

// forbidden is the error of a write that is not permitted.
func forbidden(name string) error { return apierrors.NewForbidden(leaseResource, name, nil) }

// refuseSlots returns a server that forbids writes to the Leases of slots.
func refuseSlots() *refusingServer {
	server := &refusingServer{leaseServer: newLeaseServer()}
	server.refuse.Store(new(func(name string) error {
		if strings.Contains(name, slotInfix) {
			return forbidden(name)
		}
		return nil
	}))
	return server
}

// A server that refuses a member's writes receives ten of them at once, and three more per
// LeaseDuration. Once it accepts them, the member takes the slots.
func TestRefusedRequestsAreBounded(t *testing.T) {
	exists := func(name string) error { return apierrors.NewAlreadyExists(leaseResource, name) }
	for _, test := range []struct {
		name   string
		lease  string // part of the names
		refuse func(name string) error
		limit  int64 // in ten minutes, which are 40 LeaseDurations
	}{
		{"slots are forbidden", slotInfix, forbidden, 10 + 3*40},
		{"slots exist, which no list shows", slotInfix, exists, 10 + 3*40},
		{"one slot is forbidden", slotInfix + "07", forbidden, 3 + 40},
		{"one slot exists, which no list shows", slotInfix + "07", exists, 1 + 40},
		{"the Lease of a failed member is forbidden", memberInfix + "b", forbidden, 3 + 40},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &refusingServer{leaseServer: newLeaseServer()}
				joinAndCrash(server.leaseServer, "b")
				server.refuse.Store(new(func(name string) error {
					if strings.Contains(name, test.lease) {
						return test.refuse(name)
					}
					return nil
				}))
				a := startReplica(t, server, "a")
				<-time.After(10 * time.Minute)
				if got := server.refused.Load(); got > test.limit || got < 30 {
					t.Errorf("%d requests were refused in ten minutes, limit %d", got, test.limit)
				}
				server.refuse.Store(nil)
				<-time.After(2 * a.options.LeaseDuration)
				synctest.Wait()
				expectOwned(t, a, 32)
			})
		})
	}
}

// A conflict means that the Lease has changed: it counts as seen.
func TestConflictIsNotRepeatedWithinLeaseDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &refusingServer{leaseServer: newLeaseServer()}
		server.refuse.Store(new(func(name string) error {
			if strings.Contains(name, slotInfix+"07") {
				return apierrors.NewAlreadyExists(leaseResource, name)
			}
			return nil
		}))
		startReplica(t, server, "a")
		<-time.After(time.Minute - time.Second)
		if got := server.refused.Load(); got != 4 {
			t.Errorf("%d attempts to take a slot in four LeaseDurations", got)
		}
	})
}
