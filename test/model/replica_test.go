// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// replica is one of the API servers. They share a collection, of which each has received the
// changes up to a version of its own. The server's mutex guards it.
type replica struct {
	lags    bool
	at      uint64 // if it lags: the version at which it stopped receiving changes
	compact uint64 // it has the changes after this version
	absent  bool   // it does not serve the resource
}

// freshness is how long a server waits for a version that it does not have yet, as kube-apiserver
// does.
const freshness = 3 * time.Second

// headOf returns the version that a replica has reached.
func (s *server) headOf(n int) uint64 {
	head := s.world.present().head
	if r := s.replicas[n]; r.lags {
		return min(r.at, head)
	}
	return head
}

// resetReplicas lets all replicas begin with the present epoch.
func (s *server) resetReplicas() {
	for i := range s.replicas {
		s.replicas[i] = replica{compact: s.world.present().compact, absent: s.availability.absent}
	}
}

// route sends further requests to a replica, as a load balancer does.
func (s *server) route(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = n
}

// lag stops the changes that a replica receives.
func (s *server) lag(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[n].at, s.replicas[n].lags = s.headOf(n), true
}

// catchUp lets a replica receive changes again.
func (s *server) catchUp(n int) {
	s.change(func(*world) {
		s.replicas[n].lags = false
		s.updateReplicas()
	})
}

// compact removes the history of one replica, or of etcd and all replicas if n is zero.
func (s *server) compact(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		s.world.compactAll()
	}
	for i := range s.replicas {
		if n == 0 || i == n-1 {
			s.replicas[i].compact = s.headOf(i)
		}
	}
}

// needed returns the version that a replica must have to answer a request, or zero. A list without
// a version, or at an exact one, and a page, are read from etcd.
func (s *server) needed(target string, options metav1.ListOptions) uint64 {
	asked := parseVersion(options.ResourceVersion)
	switch {
	case options.SendInitialEvents != nil && options.ResourceVersion == "":
		return s.world.present().head
	case target == targetWatch && options.SendInitialEvents == nil, target != targetWatch && isExact(options):
		return 0
	}
	return asked
}

// awaitVersion waits for the version that a request needs, as long as a server does.
func (s *server) awaitVersion(ctx context.Context, a arrival) error {
	deadline := time.After(freshness)
	for {
		s.mu.Lock()
		fresh, changed := a.needed <= s.headOf(a.replica), s.changed
		s.mu.Unlock()
		if fresh {
			return nil
		}
		select {
		case <-changed:
		case <-deadline:
			return nil // the request fails
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
