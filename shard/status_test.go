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

	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// slotForbidder is a server on which slots may not be taken.
type slotForbidder struct{ *leaseServer }

func (s slotForbidder) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if strings.Contains(lease.Name, slotInfix) {
		return nil, apierrors.NewForbidden(leaseResource, lease.Name, nil)
	}
	return s.leaseServer.Create(ctx, lease, options)
}

// An error that all slots have is logged once in five minutes, although renewals succeed meanwhile.
func TestErrorsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines atomic.Int64
		logger := funcr.New(func(_, args string) {
			if strings.Contains(args, "Sharding request failed") {
				lines.Add(1)
			}
		}, funcr.Options{})
		m, err := New(slotForbidder{newLeaseServer()}, Options{Group: "web", Identity: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logger), 12*time.Minute)
		defer cancel()
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
		if got := lines.Load(); got != 3 {
			t.Errorf("%d errors were logged in twelve minutes", got)
		}
	})
}
