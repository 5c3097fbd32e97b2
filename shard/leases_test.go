// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
)

// leaseServer is a LeaseClient that stores Leases in memory, and rejects writes as kube-apiserver
// does.
type leaseServer struct {
	leases *fake.ListerWatcher[*coordinationv1.Lease]

	mu sync.Mutex // held during a request for one Lease; a test that writes to leases while replicas renew takes it too
}

func newLeaseServer() *leaseServer {
	leases := fake.NewListerWatcher(&coordinationv1.Lease{})
	return &leaseServer{leases: leases}
}

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *leaseServer) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(name)
}

func (s *leaseServer) get(name string) (*coordinationv1.Lease, error) {
	if lease, ok := s.leases.Get(name); ok {
		return lease, nil
	}
	return nil, apierrors.NewNotFound(leaseResource, name)
}

func (s *leaseServer) List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	list, err := s.leases.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.(*coordinationv1.LeaseList), nil
}

func (s *leaseServer) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.leases.Watch(ctx, options)
}

func (s *leaseServer) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.leases.Get(lease.Name); ok {
		return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
	}
	return s.leases.Create(lease), nil
}

func (s *leaseServer) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.get(lease.Name)
	if err != nil {
		return nil, err
	}
	if lease.UID != stored.UID || lease.ResourceVersion != stored.ResourceVersion {
		return nil, apierrors.NewConflict(leaseResource, lease.Name, nil)
	}
	return s.leases.Update(lease), nil
}

func (s *leaseServer) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.get(name)
	if err != nil {
		return err
	}
	only := options.Preconditions // nil where a test deletes a Lease
	if only != nil && (*only.UID != stored.UID || *only.ResourceVersion != stored.ResourceVersion) {
		return apierrors.NewConflict(leaseResource, name, nil)
	}
	s.leases.Delete(name)
	return nil
}
