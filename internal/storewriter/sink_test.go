// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package storewriter

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// mapStore is a store of Pods by key.
type mapStore map[string]*corev1.Pod

func (m mapStore) Add(pod *corev1.Pod) error    { m[keyOf(pod)] = pod; return nil }
func (m mapStore) Update(pod *corev1.Pod) error { return m.Add(pod) }
func (m mapStore) Delete(pod *corev1.Pod) error { delete(m, keyOf(pod)); return nil }

func (m mapStore) Replace(pods []*corev1.Pod, _ string) error {
	clear(m)
	for _, pod := range pods {
		m[keyOf(pod)] = pod
	}
	return nil
}

func keyOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// String lists the Pods as key@version of uid.
func (m mapStore) String() string {
	var pods []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pods = append(pods, fmt.Sprintf("%s@%s of %s", key, m[key].ResourceVersion, m[key].UID))
	}
	return strings.Join(pods, " ")
}

// item returns a state of Pod ns/a.
func item(uid, version string) feed.Item {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: types.UID(uid), ResourceVersion: version}}
	return feed.Item{Key: "ns/a", UID: uid, ResourceVersion: version, Object: pod}
}

// badItem returns a state of Pod ns/a that cannot be decoded.
func badItem(uid, version string) feed.Item {
	return feed.Item{Key: "ns/a", UID: uid, ResourceVersion: version, Codec: feed.ErrorCodec{Err: errors.New("malformed")}}
}

// harness is a sink, its store, and the effects that it reported.
type harness struct {
	*Sink[*corev1.Pod]

	store   mapStore
	effects []feed.Effect
}

func newHarness(compare bool) *harness {
	h := &harness{store: mapStore{}}
	h.Sink = New(Config[*corev1.Pod]{
		Store:   h.store,
		Get:     func(item feed.Item) (*corev1.Pod, bool, error) { pod, ok := h.store[item.Key]; return pod, ok, nil },
		Compare: compare,
		GoType:  reflect.TypeFor[*corev1.Pod](),
		Report: func(_ string, err error) {
			if known, ok := errors.AsType[*feed.EffectError](err); ok {
				h.effects = append(h.effects, known.Effect)
			}
		},
	})
	return h
}

// list commits a list of one item.
func (h *harness) list(t *testing.T, item feed.Item) {
	t.Helper()
	next := h.Begin()
	next.Add(item)
	if err := next.Commit("9"); err != nil {
		t.Fatal(err)
	}
}

// forEachMode runs f for a sink with Compare and for one without.
func forEachMode(t *testing.T, f func(t *testing.T, h *harness)) {
	t.Helper()
	for _, compare := range []bool{true, false} {
		t.Run(fmt.Sprintf("compare=%v", compare), func(t *testing.T) { f(t, newHarness(compare)) })
	}
}

// TestPredecessorOfAnUndecodableObjectIsDeleted applies states that cannot be decoded, by an event
// and by a list, to a store that has a Pod. The Pod stays if the state is its own, and goes if the
// state is that of a Pod with another UID. An event that is older than the stored Pod, or whose UID
// is not known, deletes nothing. In each case the key is quarantined.
func TestPredecessorOfAnUndecodableObjectIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		item          feed.Item
		byEvent, list string // the store's content
	}{
		"same object":        {badItem("old", "5"), "ns/a@3 of old", "ns/a@3 of old"},
		"recreated":          {badItem("new", "5"), "", ""},
		"older, of another":  {badItem("older", "2"), "ns/a@3 of old", ""},
		"without a UID":      {badItem("", "5"), "ns/a@3 of old", "ns/a@3 of old"},
		"of an unknown name": {feed.Item{Key: "ns/b", UID: "new", ResourceVersion: "5", Codec: badItem("", "").Codec}, "ns/a@3 of old", ""},
	} {
		t.Run(name, func(t *testing.T) {
			forEachMode(t, func(t *testing.T, h *harness) {
				for _, way := range []struct {
					want string
					send func()
				}{
					{c.byEvent, func() { h.Apply(watch.Added, c.item) }},
					{c.list, func() { h.list(t, c.item) }},
				} {
					h.list(t, item("old", "3"))
					h.effects = nil
					way.send()
					effect := feed.Absent
					if way.want != "" && c.item.Key == "ns/a" {
						effect = feed.LastStateKept
					}
					if h.store.String() != way.want || h.Quarantined() != 1 || !slices.Equal(h.effects, []feed.Effect{effect}) {
						t.Errorf("the store has %q, %d quarantined, reported %q; want %q, 1, %q", h.store, h.Quarantined(), h.effects, way.want, effect)
					}
				}
			})
		})
	}
}

// TestOnlyCompareKeepsOlderStatesOut applies an older state and the deletion of an object that is
// not held.
func TestOnlyCompareKeepsOlderStatesOut(t *testing.T) {
	forEachMode(t, func(t *testing.T, h *harness) {
		want := map[bool]feed.Outcome{true: feed.Unchanged, false: feed.Applied}[h.config.Compare]
		if got := h.Apply(watch.Deleted, item("u", "3")); got != want {
			t.Errorf("a deletion of nothing: outcome %v, want %v", got, want)
		}
		h.Apply(watch.Added, item("u", "5"))
		h.Apply(watch.Modified, item("u", "4"))
		if got, want := h.store.String(), map[bool]string{true: "ns/a@5 of u", false: "ns/a@4 of u"}[h.config.Compare]; got != want {
			t.Errorf("the store has %q, want %q", got, want)
		}
	})
}

// TestIdentityOnly makes objects of keys, and none without a name or a type.
func TestIdentityOnly(t *testing.T) {
	for key, want := range map[string]string{"ns/a": "ns/a", "a": "/a", "": "", "ns/": "", "x/y/z": ""} {
		got := ""
		if pod, ok := IdentityOnly[*corev1.Pod](feed.Item{Key: key, UID: "u", ResourceVersion: "1"}, reflect.TypeFor[*corev1.Pod]()); ok {
			got = keyOf(pod)
		}
		if got != want {
			t.Errorf("%q: the object has the key %q, want %q", key, got, want)
		}
	}
	if _, ok := IdentityOnly[any](item("u", "1"), nil); ok {
		t.Error("an object without a type was made")
	}
}

// TestUnidentifiedItemIsCountedAlone lists an item that cannot be identified, and passes over an
// event. The Store sees neither.
func TestUnidentifiedItemIsCountedAlone(t *testing.T) {
	forEachMode(t, func(t *testing.T, h *harness) {
		next := h.Begin()
		next.Add(item("good", "3"))
		next.Add(feed.Item{UID: "u", Codec: badItem("", "").Codec})
		if err := next.Commit("9"); err != nil {
			t.Fatal(err)
		}
		h.CountUnreadable(errors.New("not read"))
		if len(h.store) != 1 || h.Failures().Unnamed != 2 || h.Quarantined() != 2 || len(h.effects) != 2 {
			t.Errorf("stored %v, failures %+v, effects %v", h.store, h.Failures(), h.effects)
		}
		h.list(t, item("good", "3"))
		if h.Quarantined() != 0 {
			t.Errorf("%d quarantined after a good list", h.Quarantined())
		}
	})
}
