// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/storewriter"
)

// stateItem returns a state of Pod a that is recognized by its node.
func stateItem(version, node string) feed.Item {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "uid", ResourceVersion: version},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	return feed.Item{Key: "ns/a", UID: "uid", ResourceVersion: version, Object: pod}
}

// sendTo are the ways in which a state reaches a sink.
var sendTo = map[string]func(sink *storewriter.Sink[*corev1.Pod], eventType watch.EventType, item feed.Item) error{
	"event": func(sink *storewriter.Sink[*corev1.Pod], eventType watch.EventType, item feed.Item) error {
		sink.Apply(eventType, item)
		return nil
	},
	"list": func(sink *storewriter.Sink[*corev1.Pod], _ watch.EventType, item feed.Item) error {
		next := sink.Begin()
		next.Add(item)
		return next.Commit(item.ResourceVersion)
	},
}

// badItem returns a state of Pod a that cannot be decoded.
func badItem(version string) feed.Item {
	return feed.Item{Key: "ns/a", UID: "uid", ResourceVersion: version, Codec: feed.ErrorCodec{Err: errNoStore}}
}

// After a restore of the server, whose state of a Pod could not be stored, a good state is written
// to a Reflector's store although its version is not newer than that of the stored one.
func TestReflectorStoresGoodStateInAReusedVersion(t *testing.T) {
	for _, version := range []string{"5", "6"} {
		for name, send := range sendTo {
			t.Run(name+" at "+version, func(t *testing.T) {
				store := NewStore[*corev1.Pod](nil, nil)
				sink := newStoreSink(store, func(string, error) {})
				sink.Apply(watch.Added, stateItem("6", "old"))
				restored := sink.Begin()
				restored.CompareContents(true)
				restored.Add(badItem("4"))
				if err := restored.Commit("4"); err != nil {
					t.Fatal(err)
				}
				if err := send(sink, watch.Modified, stateItem(version, "new")); err != nil {
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
	sink := newStoreSink(NewStore[*corev1.Pod](nil, nil), func(string, error) {})
	sink.Apply(watch.Added, badItem("20"))
	if outcome := sink.Apply(watch.Deleted, stateItem("15", "")); outcome != feed.Stale || sink.Quarantined() != 1 {
		t.Errorf("outcome %v, %d quarantined, want Stale and 1", outcome, sink.Quarantined())
	}
}

// A deletion of an earlier state, sent again, does not delete the state that a Reflector's store
// has.
func TestReplayedDeletionKeepsTheNewerState(t *testing.T) {
	store := NewStore[*corev1.Pod](nil, nil)
	sink := newStoreSink(store, func(string, error) {})
	sink.Apply(watch.Added, stateItem("20", "new"))
	if outcome := sink.Apply(watch.Deleted, stateItem("15", "old")); outcome != feed.Stale || store.Len() != 1 {
		t.Errorf("outcome %v, %d stored, want Stale and 1", outcome, store.Len())
	}
}

// checkedStore is a store that calls check before each change.
type checkedStore struct {
	*Store[*corev1.Pod]
	check func()
}

func (s *checkedStore) Update(pod *corev1.Pod) error {
	s.check()
	return s.Store.Update(pod)
}

func (s *checkedStore) Replace(pods []*corev1.Pod, resourceVersion string) error {
	s.check()
	return s.Store.Replace(pods, resourceVersion)
}

// An object that could not be stored counts as quarantined until the store has a later state of it.
func TestQuarantineEndsOnceTheStoreHasTheObject(t *testing.T) {
	for name, send := range sendTo {
		t.Run(name, func(t *testing.T) {
			store := &checkedStore{Store: NewStore[*corev1.Pod](nil, nil)}
			sink := newStoreSink(store, func(string, error) {})
			store.check = func() {
				if sink.Quarantined() != 1 {
					t.Errorf("%d quarantined before the change, want 1", sink.Quarantined())
				}
			}
			sink.Apply(watch.Added, badItem("4"))
			if err := send(sink, watch.Modified, stateItem("5", "")); err != nil {
				t.Fatal(err)
			}
			if store.Len() != 1 || sink.Quarantined() != 0 {
				t.Errorf("%d stored, %d quarantined, want 1 and 0", store.Len(), sink.Quarantined())
			}
		})
	}
}
