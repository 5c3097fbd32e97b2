// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestInformerAlternatesBetweenServers runs an informer of 20,000 ConfigMaps that change all the
// time. Its requests go to two servers in turn, and its connections break until each server has
// received two watches. Each change is delivered in order and once, without a second list.
func TestInformerAlternatesBetweenServers(t *testing.T) {
	t.Parallel()
	servers := newShardServers(t)
	configMaps := newConfigMapCollection(t, servers.cluster, 10, 20_000)
	configMaps.putAll(t)
	configMaps.pace(200)
	stop := configMaps.start(t)
	defer stop()
	var network gate
	alternator := servers.alternator(t)
	s := startInformer(t, servers.cluster, true, &corev1.ConfigMap{}, configMaps.list, network.configure, alternator.configure)
	s.awaitWatches(t, 1)
	listed := s.requests.fullStates()
	for rounds := 1; !s.watchedTwice(alternator.hosts); rounds++ {
		if rounds > 10 {
			t.Fatalf("after %d rounds the servers have received the watches %v, want two each", rounds, s.requests.watchedServers())
		}
		network.close()
		network.open()
		s.awaitWatches(t, rounds+1)
		s.awaitChange(t)
	}
	stop()
	s.expectSettled(t, configMaps.truth(t))
	expectEveryChange(t, s.recorder, configMaps.ledger)
	if again := s.requests.fullStates() - listed; again != 0 {
		t.Errorf("%d lists and WatchLists after the initial one, want none", again)
	}
	objects, changes := configMaps.ledger.size()
	t.Logf("%d ConfigMaps, %d changes", objects, changes)
}

// awaitWatches waits until the subject has opened n watches, the initial WatchList included.
func (s *subject) awaitWatches(t *testing.T, n int) {
	t.Helper()
	await(t, fmt.Sprintf("%d watches are open", n), func(context.Context) error {
		if _, watches, watchLists := s.requests.count(); watches+watchLists < n {
			return fmt.Errorf("%d watches and %d WatchLists", watches, watchLists)
		}
		return nil
	})
}

// watchedTwice reports whether each server has received two watches.
func (s *subject) watchedTwice(hosts []string) bool {
	watched := s.requests.watchedServers()
	for _, host := range hosts {
		if watched[host] < 2 {
			return false
		}
	}
	return true
}

// awaitChange waits until another change is delivered.
func (s *subject) awaitChange(t *testing.T) {
	t.Helper()
	_, changed := s.snapshot()
	select {
	case <-changed:
	case <-time.After(waitTimeout):
		t.Fatalf("no change was delivered within %s", waitTimeout)
	}
}
