// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/testing/random"
)

// Get, list and watch requests to a lagging replica return the state at the replica's version.
func TestReplicaAgainstModel(t *testing.T) {
	random.Check(t, 100, func(t *random.T) {
		h := newHarness(t.Range("limit", 1, 12))
		keys := []string{"a", "b", "c"}
		for range t.Range("writes", 0, 20) {
			t.Step("write")
			h.write(t, random.From(t, "key", keys...), random.From(t, "value", "", "x", "y"))
		}
		for version := uint64(1); version <= h.version; version++ {
			h.compareReplica(t, version, keys)
		}
	})
}

func (h *harness) compareReplica(t *random.T, version uint64, keys []string) {
	known := version >= h.floor
	for _, key := range keys {
		obj, ok, err := h.objects.GetAt(key, Replica(version))
		if known != (err == nil) || (err != nil && !apierrors.IsResourceExpired(err)) {
			t.Fatalf("GetAt(%s, %d), oldest version %d: %v", key, version, h.floor, err)
		}
		want, exists := h.states[version][key]
		if known && ok != exists {
			t.Fatalf("GetAt(%s, %d): found %v, want %v", key, version, ok, exists)
		}
		if ok && fmt.Sprint(obj.GetLabels()["l"], "@", obj.GetResourceVersion()) != want {
			t.Fatalf("GetAt(%s, %d): got version %s, want %s", key, version, obj.GetResourceVersion(), want)
		}
	}
	for _, from := range []uint64{0, max(h.floor, 1), version} {
		h.compareReplicaWatch(t, version, from)
	}
}

// compareReplicaWatch applies the events of a replica's watch from a version on, 0 for the initial
// state, and compares the resulting state with the model.
func (h *harness) compareReplicaWatch(t *random.T, version, from uint64) {
	watcher, err := h.objects.Watch("", metav1.ListOptions{ResourceVersion: FormatVersion(from), AllowWatchBookmarks: true}, Replica(version))
	if version < h.floor {
		if !IsStreamError(err) {
			t.Fatalf("watch of replica at %d, oldest version %d: got %v, want StreamError", version, h.floor, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &modelWatch{watcher: watcher, state: state{}}
	if from > 0 {
		if from > version {
			return // the watch sends nothing until the replica has caught up, which it never does
		}
		v.state, v.last = h.states[from].where(""), from
	}
	for {
		events, changed, err := watcher.Next(2)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			if v.last = min(v.last, event.Version-1); from > 0 {
				v.last = max(v.last, from)
			}
			v.apply(t, event)
		}
		if changed != nil {
			break
		}
	}
	if want := h.states[version]; !maps.Equal(v.state, want) {
		t.Fatalf("watch of replica at %d from %d: got state %v, want %v", version, from, v.state, want)
	}
	watcher.Bookmark()
	if events, _, err := watcher.Next(2); len(events) != 1 || events[0].Version != version || err != nil {
		t.Fatalf("watch of replica: got %v, %v, want a bookmark at %d", events, err, version)
	}
}

func TestRemovedCollectionSendsLastChangesBeforeEndingWatches(t *testing.T) {
	h := newHarness(10)
	h.write(t, "a", "x")
	h.write(t, "b", "x")
	watcher, err := h.objects.Watch("", metav1.ListOptions{ResourceVersion: FormatVersion(h.version)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, changed, err := watcher.Next(1)
	if err != nil || changed == nil {
		t.Fatalf("Next before any change: got channel %v, %v", changed, err)
	}
	h.objects.Clear()
	h.memory.Remove(h.objects)
	<-changed
	for _, want := range []string{"a", "b"} {
		events, _, err := watcher.Next(1)
		if err != nil || len(events) != 1 || events[0].Type != "DELETED" || events[0].Object.GetName() != want {
			t.Fatalf("got %v, %v, want %s deleted", events, err, want)
		}
	}
	if _, _, err := watcher.Next(1); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v, want ErrEnded", err)
	}
	if n := len(h.memory.collections); n != 0 {
		t.Errorf("got %d collections after Remove, want 0", n)
	}
}

func TestDryRunDoesNotWrite(t *testing.T) {
	h := newHarness(10)
	h.write(t, "a", "x")
	got, err := h.objects.DryRun("a", func(current Object) (Object, error) { return nil, nil })
	if err != nil || got.GetName() != "a" {
		t.Errorf("DryRun of a delete: got %v, %v", got, err)
	}
	if _, ok := h.objects.Get("a"); !ok || h.memory.Version() != h.version {
		t.Errorf("DryRun deleted the object or advanced the version")
	}
}
