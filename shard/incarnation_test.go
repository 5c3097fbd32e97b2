// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slowCreation takes 4 s to respond to the creation of a Lease, and never responds to the first
// Get.
type slowCreation struct {
	*leaseServer

	asked bool
}

func (s *slowCreation) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	if !s.asked {
		s.asked = true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.leaseServer.Get(ctx, name, options)
}

func (s *slowCreation) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	defer func() { <-time.After(4 * time.Second) }()
	return s.leaseServer.Create(ctx, lease, options)
}

// TestTermCountsFromRequestToJoin also checks that a lost request delays a member by RenewDeadline
// only.
func TestTermCountsFromRequestToJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMember(t, &slowCreation{leaseServer: newLeaseServer()}, "a")
		began := time.Now()
		i := m.join(t.Context())
		if got := i.term.left(); got != 6*time.Second {
			t.Errorf("%v of the term is left, 4 s after the request was sent", got)
		}
		if took := time.Since(began); took != m.options.RenewDeadline+m.options.RetryPeriod+4*time.Second {
			t.Errorf("the member joined after %v", took)
		}
	})
}

// slowUpdate takes a while to respond to an update of a Lease, and records the errors of contexts.
type slowUpdate struct {
	*leaseServer

	takes   time.Duration
	started chan struct{}
	cut     []error
}

func (s *slowUpdate) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if holderOf(lease) != "" { // not the last one, by which the Lease is given up
		s.started <- struct{}{}
		select {
		case <-ctx.Done():
			s.cut = append(s.cut, ctx.Err())
			return nil, ctx.Err()
		case <-time.After(s.takes):
		}
	}
	return s.leaseServer.Update(ctx, lease, options)
}

// TestStoppedMemberFinishesItsRequest stops a member while a renewal is under way.
func TestStoppedMemberFinishesItsRequest(t *testing.T) {
	for takes, cut := range map[time.Duration]int{time.Second: 0, time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			leases := &slowUpdate{leaseServer: newLeaseServer(), takes: takes, started: make(chan struct{})}
			m := newTestMember(t, leases, "a")
			stop := runMember(t.Context(), t, m)
			<-leases.started
			began := time.Now()
			stop()
			if took := time.Since(began); len(leases.cut) != cut || took != min(takes, m.options.RetryPeriod) {
				t.Errorf("a renewal of %v: %v, stopped after %v", takes, leases.cut, took)
			}
			if lease, err := leases.Get(t.Context(), m.options.memberLeaseName(), metav1.GetOptions{}); err != nil || holderOf(lease) != "" {
				t.Errorf("the Lease is held by %q, error %v", holderOf(lease), err)
			}
		})
	}
}
