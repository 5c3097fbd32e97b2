package history

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// A replica that has come no further than a version shows what there was at that version, and nothing later, however it is asked.
func TestReplicaAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(1, 12).Draw(t, "limit"))
		keys := []string{"a", "b", "c"}
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			w.write(t, rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "value"))
		}
		for version := uint64(1); version <= w.version; version++ {
			w.compareReplica(t, version, keys)
		}
	})
}

func (w *world) compareReplica(t *rapid.T, version uint64, keys []string) {
	known := version >= w.floor
	for _, key := range keys {
		obj, ok, err := w.objects.GetAt(key, version)
		if known != (err == nil) || (err != nil && !apierrors.IsResourceExpired(err)) {
			t.Fatalf("GetAt(%s, %d), the history reaching back to %d: %v", key, version, w.floor, err)
		}
		want, exists := w.states[version][key]
		if known && ok != exists {
			t.Fatalf("GetAt(%s, %d): there is one: %v, want %v", key, version, ok, exists)
		}
		if ok && fmt.Sprint(obj.GetLabels()["l"], "@", obj.GetResourceVersion()) != want {
			t.Fatalf("GetAt(%s, %d): got version %s, want %s", key, version, obj.GetResourceVersion(), want)
		}
	}
	for _, from := range []uint64{0, max(w.floor, 1), version} {
		w.compareReplicaWatch(t, version, from)
	}
}

// compareReplicaWatch folds what a replica's watch tells from a version on, 0 being its state.
func (w *world) compareReplicaWatch(t *rapid.T, version, from uint64) {
	watcher, err := w.objects.WatchAt("", metav1.ListOptions{ResourceVersion: FormatVersion(from), AllowWatchBookmarks: true}, version)
	if version < w.floor {
		if !IsStreamError(err) {
			t.Fatalf("a watch of a replica at %d, below %d: %v", version, w.floor, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &view{watcher: watcher, state: state{}}
	if from > 0 {
		if from > version {
			return // nothing comes until the replica has caught up, which it never does
		}
		v.state, v.last = w.states[from].where(""), from
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
	if want := w.states[version]; !maps.Equal(v.state, want) {
		t.Fatalf("the watch of a replica at %d from %d adds up to %v, want %v", version, from, v.state, want)
	}
	if bookmark := watcher.Bookmark(); bookmark == nil || bookmark.Version != version {
		t.Fatalf("the replica's bookmark is %v, want one at %d", bookmark, version)
	}
}

// A collection that is removed has its last changes told, and then ends its watchers.
func TestRemovedCollection(t *testing.T) {
	w := newWorld(10)
	w.write(t, "a", "x")
	w.write(t, "b", "x")
	watcher, err := w.objects.Watch("", metav1.ListOptions{ResourceVersion: FormatVersion(w.version)})
	if err != nil {
		t.Fatal(err)
	}
	_, changed, err := watcher.Next(1)
	if err != nil || changed == nil {
		t.Fatalf("nothing has happened yet: %v", err)
	}
	w.objects.Clear()
	w.memory.Remove(w.objects)
	<-changed
	for _, want := range []string{"a", "b"} {
		events, _, err := watcher.Next(1)
		if err != nil || len(events) != 1 || events[0].Type != "DELETED" || events[0].Object.GetName() != want {
			t.Fatalf("got %v, %v, want %s deleted", events, err, want)
		}
	}
	if _, _, err := watcher.Next(1); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v, want the end", err)
	}
	if w.memory.Items() != 0 {
		t.Errorf("the memory still counts %d objects", w.memory.Items())
	}
}

// A dry run sees what a write would see and changes nothing.
func TestTry(t *testing.T) {
	w := newWorld(10)
	w.write(t, "a", "x")
	got, err := w.objects.Try("a", func(current Object) (Object, error) { return nil, nil })
	if err != nil || got.GetName() != "a" {
		t.Errorf("a tried delete: %v, %v", got, err)
	}
	if _, ok := w.objects.Get("a"); !ok || w.memory.Version() != w.version {
		t.Errorf("a tried delete was made, or took a version")
	}
}
