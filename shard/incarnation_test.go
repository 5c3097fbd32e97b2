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
		m, err := New(&slowCreation{leaseServer: newLeaseServer()}, Options{Group: "web", Identity: "a"})
		if err != nil {
			t.Fatal(err)
		}
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
