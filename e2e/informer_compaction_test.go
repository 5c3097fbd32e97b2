package e2e

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// A consumer is cut off for so long that the server has forgotten the version it was at: 410 Gone. It lists, and tells the
// difference: what is gone, what came, what was replaced by another of its name, and nothing of what stayed as it was.
func TestInformerListsAgainAfterCompaction(t *testing.T) {
	t.Parallel()
	pods := podScene(t, cluster.New(t, cluster.Options{}), 80)
	var network gate
	subjects := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list, network.through)
	awaitListed(t, subjects)
	pods.write(t, 300)
	allSettle(t, subjects, pods.truth)
	before := pods.truth(t)
	if len(before) < 20 {
		t.Fatalf("there are %d Pods, too few", len(before))
	}

	network.close()
	pods.write(t, 400)
	if _, err := pods.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pods.cluster.APIServer().Restart(t.Context()); err != nil { // it remembers for itself as long as it runs
		t.Fatal(err)
	}
	asked := map[*subject]int{}
	for _, s := range subjects {
		if now, _ := s.fold(); !maps.Equal(now, before) {
			t.Errorf("%s was told of changes while it was cut off", s.name)
		}
		asked[s] = s.requests.wholeStates()
	}
	network.open()
	allSettle(t, subjects, pods.truth, func(t *testing.T, s *subject) {
		expectSome(t, s.told, pods.ledger)
		if n := s.requests.wholeStates() - asked[s]; n == 0 || n > 2 {
			t.Errorf("the whole state was asked for %d times, want once or twice", n)
		}
		if s.controller == nil && !s.errors.any(apierrors.IsResourceExpired) {
			t.Errorf("nothing was heard of 410 Gone in %v", s.errors.list())
		}
		expectReplaced(t, s.told)
	})

	// And on from there by watching.
	pods.write(t, 200)
	allSettle(t, subjects, pods.truth, func(t *testing.T, s *subject) { expectSome(t, s.told, pods.ledger) })
}

// expectReplaced checks that some object was told to be deleted and another to be added under its name: that this happens
// at all is what is checked here, that it is right elsewhere.
func expectReplaced(t *testing.T, r *told) {
	t.Helper()
	now, _ := r.fold()
	for key := range now {
		if states := r.history(key); states[0].uid != states[len(states)-1].uid {
			return
		}
	}
	t.Error("no object was replaced by another of its name")
}
