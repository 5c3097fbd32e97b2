package e2e

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// etcd is restored from an older backup: the server gives out versions a second time, and says nothing to those who watch
// from one that it has not reached yet. They find out, go back with it, tell what is different, and go on from there.
func TestInformerGoesBackWithARestoredEtcd(t *testing.T) {
	t.Parallel()
	pods := podScene(t, cluster.New(t, cluster.Options{}), 60)
	subjects := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list)
	awaitListed(t, subjects)
	pods.write(t, 200)
	backup, err := pods.cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := pods.truth(t)
	pods.write(t, 600) // more than the server writes for itself meanwhile, or versions would be no older
	lost := pods.truth(t)
	allSettle(t, subjects, pods.truth, func(t *testing.T, s *subject) { expectSome(t, s.told, pods.ledger) })
	seen := map[*subject]int64{}
	for _, s := range subjects {
		seen[s] = parseVersion(s.version())
		s.mayGoBack()
	}

	if err := pods.cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	restored := time.Now()
	if now := pods.truth(t); !maps.Equal(now, kept) {
		t.Fatalf("the server is not at its backup: %s", difference(now, kept))
	}
	allSettle(t, subjects, pods.truth, func(t *testing.T, s *subject) {
		took := time.Since(restored).Round(time.Second)
		t.Logf("it is back %s after the restore at most", took)
		if took > farPatience {
			t.Errorf("it is back %s after the restore, want %s at most", took, farPatience)
		}
		if at := parseVersion(s.version()); at >= seen[s] {
			t.Errorf("the version is %d, want less than %d, which was seen before the restore", at, seen[s])
		}
		expectUndone(t, s.told, kept, lost)
	})

	pods.read(t) // of what was written before, some never happened
	pods.write(t, 200)
	allSettle(t, subjects, pods.truth)
}

// expectUndone checks that the last thing told of each object undid what was lost.
func expectUndone(t *testing.T, r *told, kept, lost map[string]state) {
	t.Helper()
	for key, was := range lost {
		now, still := kept[key]
		if !still {
			now = state{was.uid, gone}
		}
		states := r.history(key)
		if last := states[len(states)-1]; last != now {
			t.Errorf("the last that was told of %s is %v, want %v", key, last, now)
		}
		if was != now && states[len(states)-2] != was && states[len(states)-2] != (state{was.uid, gone}) {
			t.Errorf("of %s was told %v, want %v before the last", key, states, was)
		}
	}
	for key, now := range kept {
		if _, ok := lost[key]; ok {
			continue
		}
		if states := r.history(key); states[len(states)-1] != now {
			t.Errorf("of %s, which came back, was told %v, want %v at last", key, states, now)
		}
	}
}
