package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
)

func podItem(name, version string) feed.Item {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", ResourceVersion: version}}
	return feed.Item{Key: "ns/" + name, UID: "uid", ResourceVersion: version, Object: pod}
}

// A list with an object that cannot be decoded does not take away what the store has of
// it: whoever synchronises Pods would end one that is there.
func TestListKeepsTheLastGoodState(t *testing.T) {
	store := NewUndeltaStore(func([]*corev1.Pod) {}, nil)
	var reported []string
	sink := &storeSink[*corev1.Pod]{store: store, report: func(key string, _ error) { reported = append(reported, key) }}
	list := func(items ...feed.Item) {
		t.Helper()
		next := sink.Begin()
		for _, item := range items {
			next.Add(item)
		}
		if err := next.Commit("9"); err != nil {
			t.Fatal(err)
		}
	}
	list(podItem("a", "1"), podItem("b", "2"))
	list(undecodable(t, "a"), undecodable(t, "c"))
	if a, ok := store.GetByKey("ns/a"); !ok || a.ResourceVersion != "1" || store.Len() != 1 {
		t.Errorf("the store holds %v, want a@1", store.ListKeys())
	}
	if len(reported) != 2 || sink.Quarantined() != 2 {
		t.Errorf("%q were reported, %d wait for another state", reported, sink.Quarantined())
	}
	list(undecodable(t, "a"), podItem("a", "3"))
	if a, ok := store.GetByKey("ns/a"); !ok || a.ResourceVersion != "3" || sink.Quarantined() != 0 {
		t.Errorf("the store holds %v; %d wait for another state", a, sink.Quarantined())
	}
}
