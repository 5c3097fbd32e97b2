package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// stateItem returns a state of Pod a that is recognized by its node.
func stateItem(version, node string) feed.Item {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "uid", ResourceVersion: version},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	return feed.Item{Key: "ns/a", UID: "uid", ResourceVersion: version, Object: pod}
}

// badItem returns a state of Pod a that cannot be decoded.
func badItem(version string) feed.Item {
	return feed.Item{Key: "ns/a", UID: "uid", ResourceVersion: version, Codec: feed.ErrorCodec{Err: errNotHeld}}
}

// After a restore of the server, whose state of a Pod could not be stored, a good state is written to
// a Reflector's store although its version is not newer than that of the stored one.
func TestReflectorStoresGoodStateInAReusedVersion(t *testing.T) {
	for _, version := range []string{"5", "6"} {
		for name, send := range map[string]func(sink *storeSink[*corev1.Pod]) error{
			"event": func(sink *storeSink[*corev1.Pod]) error {
				sink.Apply(watch.Modified, stateItem(version, "new"))
				return nil
			},
			"list": func(sink *storeSink[*corev1.Pod]) error {
				next := sink.Begin()
				next.Add(stateItem(version, "new"))
				return next.Commit(version)
			},
		} {
			t.Run(name+" at "+version, func(t *testing.T) {
				store := NewStore[*corev1.Pod](nil, nil)
				sink := &storeSink[*corev1.Pod]{store: store, report: func(string, error) {}}
				sink.Apply(watch.Added, stateItem("6", "old"))
				restored := sink.Begin()
				restored.CompareContents()
				restored.Add(badItem("4"))
				if err := restored.Commit("4"); err != nil {
					t.Fatal(err)
				}
				if err := send(sink); err != nil {
					t.Fatal(err)
				}
				if pod, _ := store.GetByKey("ns/a"); pod.Spec.NodeName != "new" || sink.Quarantined() != 0 {
					t.Errorf("the store has the %s state, %d quarantined", pod.Spec.NodeName, sink.Quarantined())
				}
			})
		}
	}
}

// A deletion of an earlier state, sent again, does not hide that a later one could not be stored.
func TestReflectorKeepsQuarantineAfterReplayedDeletion(t *testing.T) {
	sink := &storeSink[*corev1.Pod]{store: NewStore[*corev1.Pod](nil, nil), report: func(string, error) {}}
	sink.Apply(watch.Added, badItem("20"))
	if outcome := sink.Apply(watch.Deleted, stateItem("15", "")); outcome != feed.Stale || sink.Quarantined() != 1 {
		t.Errorf("outcome %v, %d quarantined, want Stale and 1", outcome, sink.Quarantined())
	}
}

// A deletion of an earlier state, sent again, does not delete the state that a Reflector's store has.
func TestReplayedDeletionKeepsTheNewerState(t *testing.T) {
	store := NewStore[*corev1.Pod](nil, nil)
	sink := &storeSink[*corev1.Pod]{store: store, report: func(string, error) {}}
	sink.Apply(watch.Added, stateItem("20", "new"))
	if outcome := sink.Apply(watch.Deleted, stateItem("15", "old")); outcome != feed.Stale || store.Len() != 1 {
		t.Errorf("outcome %v, %d stored, want Stale and 1", outcome, store.Len())
	}
}
