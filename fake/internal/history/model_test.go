// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/testing/random"
)

// state is the model of a collection at one version: a map from key to "label value@version".
type state map[string]string

// where returns the objects with a label value, or all objects for "".
func (s state) where(value string) state {
	part := state{}
	for key, object := range s {
		if value == "" || object[:1] == value {
			part[key] = object
		}
	}
	return part
}

// harness holds the collection under test and a naive model of it, which keeps every past state.
type harness struct {
	memory  *Memory
	objects *Collection
	states  map[uint64]state // by version; a skipped version has the state of the version before
	version uint64
	changes []uint64 // versions of the changes since the last compaction
	floor   uint64   // the oldest version that the log covers
	window  uint64   // the oldest version that a watch can start at; at least floor
	limit   int
	watches []*modelWatch
}

// modelWatch is a watcher and the state that results from its events.
type modelWatch struct {
	watcher *Watcher
	value   string
	state   state
	last    uint64
	ended   bool
}

func newHarness(limit int) *harness {
	memory := NewMemory()
	return &harness{
		memory: memory,
		limit:  limit,
		objects: memory.Collection(Spec{
			New:        func() Object { return &corev1.Pod{} },
			Fields:     func(obj Object) fields.Fields { return fields.Set{} },
			CheckField: func(string) error { return nil },
			Limit:      limit,
		}),
		states:  map[uint64]state{1: {}},
		version: 1,
	}
}

// write creates or updates an object, or deletes it if value is "", in the collection and the
// model.
func (h *harness) write(t testing.TB, key, value string) {
	now := maps.Clone(h.states[h.version])
	_, exists := now[key]
	if value == "" && !exists {
		return
	}
	_, err := h.objects.Apply(key, func(current Object) (Object, error) {
		if (current != nil) != exists {
			return nil, fmt.Errorf("%s: exists in collection %v, in model %v", key, current != nil, exists)
		}
		if value == "" {
			return nil, nil
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: key, Labels: map[string]string{"l": value}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.version++
	if value == "" {
		delete(now, key)
	} else {
		now[key] = fmt.Sprint(value, "@", h.version)
	}
	h.states[h.version] = now
	h.changes = append(h.changes, h.version)
	if len(h.changes) > h.limit {
		h.floor, h.changes = h.changes[0], h.changes[1:]
		h.window = max(h.window, h.floor)
	}
}

func (h *harness) skip(n uint64) {
	h.memory.SkipVersions(n)
	for range n {
		h.states[h.version+1] = h.states[h.version]
		h.version++
	}
}

func (h *harness) compact() {
	h.memory.Compact()
	h.changes, h.floor, h.window = nil, h.version, h.version
}

func (h *harness) truncate() {
	h.memory.TruncateWindow()
	h.window = h.version
}

func (h *harness) restore(t *random.T, version uint64) {
	err := h.memory.Restore(version)
	if possible := version >= h.floor && version <= h.version; possible != (err == nil) {
		t.Fatalf("Restore(%d) with versions %d to %d: %v", version, h.floor, h.version, err)
	}
	if err != nil {
		return
	}
	h.version, h.window = version, min(h.window, version)
	for len(h.changes) > 0 && h.changes[len(h.changes)-1] > version {
		h.changes = h.changes[:len(h.changes)-1]
	}
	for _, v := range h.watches {
		v.ended = true
		if _, _, err := v.watcher.Next(1); len(v.watcher.initial) == 0 && v.watcher.initialEventsEnd == nil && !errors.Is(err, ErrEnded) {
			t.Fatalf("Next after Restore: got %v, want ErrEnded", err)
		}
	}
	h.watches = nil
}

func selector(value string) string {
	if value == "" {
		return ""
	}
	return "l=" + value
}

// list lists a version in pages, writes between the pages, and compares the result with the model.
func (h *harness) list(t *random.T, version uint64, value string, limit int64) {
	opts := metav1.ListOptions{
		ResourceVersion: FormatVersion(version), ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		LabelSelector: selector(value), Limit: limit,
	}
	got := state{}
	for {
		page, err := h.objects.List("", opts, 0)
		switch {
		case version > h.version:
			if !apierrors.IsTimeout(err) {
				t.Fatalf("exact list at %d, newest version %d: got %v, want timeout", version, h.version, err)
			}
			return
		case version < h.floor:
			if !apierrors.IsResourceExpired(err) {
				t.Fatalf("exact list at %d, oldest version %d: got %v, want expired", version, h.floor, err)
			}
			return
		case err != nil:
			t.Fatalf("exact list at %d with versions %d to %d: %v", version, h.floor, h.version, err)
		}
		if page.Version != version {
			t.Fatalf("exact list at %d has version %d", version, page.Version)
		}
		for _, item := range page.Items {
			if _, twice := got[item.Key]; twice {
				t.Fatalf("%s listed twice", item.Key)
			}
			got[item.Key] = fmt.Sprint(item.Object.GetLabels()["l"], "@", item.Object.GetResourceVersion())
		}
		if page.Continue == "" {
			break
		}
		opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
		h.write(t, "between", random.From(t, "write between pages", "", "x", "y"))
	}
	if want := h.states[version].where(value); !maps.Equal(got, want) {
		t.Fatalf("list at %d: got %v, want %v", version, got, want)
	}
}

// open starts a watcher at a version.
func (h *harness) open(t *random.T, version uint64, value string) {
	watcher, err := h.objects.Watch("", metav1.ListOptions{ResourceVersion: FormatVersion(version), LabelSelector: selector(value)}, 0)
	if version < h.window {
		if !IsStreamError(err) || !apierrors.IsResourceExpired(err) {
			t.Fatalf("watch at %d, oldest version %d: got %v, want expired", version, h.window, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	h.watches = append(h.watches, &modelWatch{watcher: watcher, value: value, state: h.states[version].where(value), last: version})
}

// drain applies all events of a watcher and compares the resulting state with the model.
func (h *harness) drain(t *random.T, v *modelWatch) {
	for {
		events, changed, err := v.watcher.Next(2)
		if err != nil {
			if v.last >= h.window || !apierrors.IsResourceExpired(err) {
				t.Fatalf("watcher at %d ended, oldest version %d: %v", v.last, h.window, err)
			}
			v.ended = true
			return
		}
		for _, event := range events {
			v.apply(t, event)
		}
		if changed != nil {
			break
		}
	}
	if want := h.states[h.version].where(v.value); !maps.Equal(v.state, want) {
		t.Fatalf("state from events: got %v, want %v", v.state, want)
	}
	v.last = h.version
}

// apply applies one event to the state. The test fails if the event is ADDED for an existing
// object, or MODIFIED or DELETED for a missing one.
func (v *modelWatch) apply(t *random.T, event *Event) {
	key := event.Object.GetName()
	_, exists := v.state[key]
	if exists == (event.Type == watch.Added) {
		t.Fatalf("got %s for %s, object existed before: %v", event.Type, key, exists)
	}
	if event.Version <= v.last || event.Object.GetResourceVersion() != FormatVersion(event.Version) {
		t.Fatalf("got %s for %s@%s after version %d", event.Type, key, event.Object.GetResourceVersion(), v.last)
	}
	v.last = event.Version
	if event.Type == watch.Deleted {
		delete(v.state, key)
		return
	}
	v.state[key] = fmt.Sprint(event.Object.GetLabels()["l"], "@", event.Version)
}

// Random sequences of writes, compactions, truncated windows and restores: lists and watches agree
// with a model that keeps every past state.
func TestCollectionAgainstModel(t *testing.T) {
	random.Check(t, 100, func(t *random.T) {
		h := newHarness(t.Range("limit", 1, 12))
		key := func(t *random.T) string { return random.From(t, "key", "a", "b", "c", "d", "e") }
		value := func(t *random.T) string { return random.From(t, "value", "", "x", "y") }
		anyVersion := func(t *random.T) uint64 {
			return uint64(t.Range("version", int(max(h.floor, 2)-1), int(h.version+1)))
		}
		t.Repeat(map[string]func(*random.T){
			"write":    func(t *random.T) { h.write(t, key(t), value(t)) },
			"again":    func(t *random.T) { h.write(t, key(t), value(t)) },
			"skip":     func(t *random.T) { h.skip(uint64(t.Range("n", 1, 3))) },
			"compact":  func(*random.T) { h.compact() },
			"truncate": func(*random.T) { h.truncate() },
			"restore": func(t *random.T) {
				if t.Range("rarely", 0, 4) == 0 {
					h.restore(t, anyVersion(t))
				}
			},
			"list": func(t *random.T) {
				h.list(t, anyVersion(t), value(t), int64(t.Range("limit", 0, 3)))
			},
			"watch": func(t *random.T) { h.open(t, min(anyVersion(t), h.version), value(t)) },
			"drain": func(t *random.T) {
				for _, v := range h.watches {
					if !v.ended {
						h.drain(t, v)
					}
				}
			},
		})
	})
}
