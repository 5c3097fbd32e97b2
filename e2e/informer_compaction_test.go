// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// TestInformerRelistsAfterCompaction disconnects the subjects until the server no longer has their
// version: 410 Gone. They relist and deliver the difference: deletions, additions, recreated
// objects, and no event for unchanged ones.
func TestInformerRelistsAfterCompaction(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, cluster.New(t, cluster.Options{}), 80)
	var network gate
	subjects := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list, network.configure)
	awaitListed(t, subjects)
	pods.write(t, 300)
	expectAllSettled(t, subjects, pods.truth)
	before := pods.truth(t)
	if len(before) < 20 {
		t.Fatalf("there are %d Pods, too few", len(before))
	}

	network.close()
	pods.write(t, 400)
	if _, err := pods.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pods.cluster.APIServer().Restart(t.Context()); err != nil { // its watch cache lasts as long as it runs
		t.Fatal(err)
	}
	fullStates := map[*subject]int{}
	for _, s := range subjects {
		if now, _ := s.snapshot(); !maps.Equal(now, before) {
			t.Errorf("%s received changes while it was disconnected", s.name)
		}
		fullStates[s] = s.requests.fullStates()
	}
	network.open()
	expectAllSettled(t, subjects, pods.truth, func(t *testing.T, s *subject) {
		expectSubsequence(t, s.recorder, pods.ledger)
		if n := s.requests.fullStates() - fullStates[s]; n == 0 || n > 2 {
			t.Errorf("%d lists and WatchLists, want 1 or 2", n)
		}
		if s.controller == nil && !s.errors.any(apierrors.IsResourceExpired) {
			t.Errorf("no 410 Gone among the errors %v", s.errors.list())
		}
		expectRecreated(t, s.recorder)
	})

	// Then they watch again.
	pods.write(t, 200)
	expectAllSettled(t, subjects, pods.truth, func(t *testing.T, s *subject) { expectSubsequence(t, s.recorder, pods.ledger) })
}

// expectRecreated checks that the changes contain a recreated object, so that the test covers this
// case.
func expectRecreated(t *testing.T, r *recorder) {
	t.Helper()
	now, _ := r.snapshot()
	for key := range now {
		if states := r.history(key); states[0].uid != states[len(states)-1].uid {
			return
		}
	}
	t.Error("no object was recreated under its name")
}
