// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// TestInformerFollowsRestoredEtcd restores etcd from an older backup: the server assigns versions a
// second time, and sends nothing to watches from versions that it has not reached again. The
// subjects detect this, relist, deliver the difference, and watch from there.
func TestInformerFollowsRestoredEtcd(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, cluster.New(t, cluster.Options{}), 60)
	subjects := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list)
	awaitListed(t, subjects)
	pods.write(t, 200)
	backup, err := pods.cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := pods.truth(t)
	pods.write(t, 600) // more than the server's own writes, so that the versions are older after the restore
	lost := pods.truth(t)
	expectAllSettled(t, subjects, pods.truth, func(t *testing.T, s *subject) { expectSubsequence(t, s.recorder, pods.ledger) })
	seen := map[*subject]int64{}
	for _, s := range subjects {
		seen[s] = parseVersion(s.version())
		s.allowRegression()
	}

	if err := pods.cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	restored := time.Now()
	if now := pods.truth(t); !maps.Equal(now, kept) {
		t.Fatalf("the server differs from its backup: %s", difference(now, kept))
	}
	expectAllSettled(t, subjects, pods.truth, func(t *testing.T, s *subject) {
		took := time.Since(restored).Round(time.Second)
		t.Logf("up to date at most %s after the restore", took)
		if took > restoreTimeout {
			t.Errorf("up to date %s after the restore, want at most %s", took, restoreTimeout)
		}
		if at := parseVersion(s.version()); at >= seen[s] {
			t.Errorf("the version is %d, want less than %d, the version before the restore", at, seen[s])
		}
		expectReverted(t, s.recorder, kept, lost)
	})

	pods.resetFromServer(t) // some of the earlier writes were undone
	pods.write(t, 200)
	expectAllSettled(t, subjects, pods.truth)
}

// expectReverted checks that the last change of each object reverted the writes that were lost.
func expectReverted(t *testing.T, r *recorder, kept, lost map[string]state) {
	t.Helper()
	for key, was := range lost {
		now, still := kept[key]
		if !still {
			now = state{was.uid, gone}
		}
		states := r.history(key)
		if last := states[len(states)-1]; last != now {
			t.Errorf("the last state of %s is %v, want %v", key, last, now)
		}
		if was != now && states[len(states)-2] != was && states[len(states)-2] != (state{was.uid, gone}) {
			t.Errorf("%s: delivered %v, want %v before the last", key, states, was)
		}
	}
	for key, now := range kept {
		if _, ok := lost[key]; ok {
			continue
		}
		if states := r.history(key); states[len(states)-1] != now {
			t.Errorf("%s, which was restored: delivered %v, want %v as the last", key, states, now)
		}
	}
}
