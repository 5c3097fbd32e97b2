// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	leaseDuration = 15 * time.Second // after which another replica takes a lease that was not renewed
	retryPeriod   = 2 * time.Second  // between renewals, and between attempts of other replicas
)

var errLostLease = errors.New("could not renew the lease, so another replica may lead")

// leaseOf returns the lease that the replicas compete for.
func leaseOf(client kubernetes.Interface, namespace, identity string) *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "pod-count"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

// lead waits until this replica has the lease and calls run, until ctx ends. It releases the lease
// after run has returned. If the lease is lost, it ends run and returns errLostLease: the process
// must end then. If it does not, watchdog fails.
func lead(ctx context.Context, lock *resourcelock.LeaseLock, watchdog *leaderelection.HealthzAdaptor, run func(context.Context) error) error {
	led := make(chan context.Context, 1) // receives a context that ends when the lease is lost
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   leaseDuration,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { led <- leading },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	watchdog.SetLeaderElection(elector)
	// The end of ctx must not release the lease while the controller still works.
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	released := make(chan struct{})
	go func() {
		defer close(released)
		elector.Run(electing)
	}()
	defer func() {
		release()
		<-released
	}()
	select {
	case <-ctx.Done():
		return nil
	case leading := <-led:
		running, cancel := context.WithCancel(leading)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		err := run(running)
		if leading.Err() != nil {
			return errors.Join(errLostLease, err)
		}
		return err
	}
}
