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
	"pgregory.net/rapid"
)

// state is a collection at one version, as key -> label value and version of the object.
type state map[string]string

// where returns the part of a state whose objects have a label value; "" is all of it.
func (s state) where(value string) state {
	part := state{}
	for key, object := range s {
		if value == "" || object[:1] == value {
			part[key] = object
		}
	}
	return part
}

// world is the collection under test beside a naive twin, which remembers every state there ever was.
type world struct {
	memory  *Memory
	objects *Collection
	states  map[uint64]state // by version; a version without a change has the state of the one before
	version uint64
	changes []uint64 // versions of the changes since the last compaction
	floor   uint64   // everything below is forgotten
	limit   int
	views   []*view
}

// view is one watcher beside the state that its events add up to.
type view struct {
	watcher *Watcher
	value   string
	state   state
	last    uint64
	ended   bool
}

func newWorld(limit int) *world {
	memory := NewMemory()
	return &world{
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

// write creates, updates or deletes (value "") an object in both.
func (w *world) write(t rapid.TB, key, value string) {
	now := maps.Clone(w.states[w.version])
	_, exists := now[key]
	if value == "" && !exists {
		return
	}
	_, err := w.objects.Apply(key, func(current Object) (Object, error) {
		if (current != nil) != exists {
			return nil, fmt.Errorf("%s: the memory has %v, the model %v", key, current != nil, exists)
		}
		if value == "" {
			return nil, nil
		}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: key, Labels: map[string]string{"l": value}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.version++
	if value == "" {
		delete(now, key)
	} else {
		now[key] = fmt.Sprint(value, "@", w.version)
	}
	w.states[w.version] = now
	w.changes = append(w.changes, w.version)
	if len(w.changes) > w.limit {
		w.floor, w.changes = w.changes[0], w.changes[1:]
	}
}

func (w *world) skip(n uint64) {
	w.memory.SkipVersions(n)
	for range n {
		w.states[w.version+1] = w.states[w.version]
		w.version++
	}
}

func (w *world) compact() {
	w.memory.Compact()
	w.changes, w.floor = nil, w.version
}

func (w *world) restore(t *rapid.T, version uint64) {
	err := w.memory.Restore(version)
	if possible := version >= w.floor && version <= w.version; possible != (err == nil) {
		t.Fatalf("Restore(%d) between %d and %d: %v", version, w.floor, w.version, err)
	}
	if err != nil {
		return
	}
	w.version = version
	for len(w.changes) > 0 && w.changes[len(w.changes)-1] > version {
		w.changes = w.changes[:len(w.changes)-1]
	}
	for _, v := range w.views {
		v.ended = true
		if _, _, err := v.watcher.Next(1); len(v.watcher.initial) == 0 && v.watcher.end == nil && !errors.Is(err, ErrEnded) {
			t.Fatalf("a watcher outlives a restore: %v", err)
		}
	}
	w.views = nil
}

func selector(value string) string {
	if value == "" {
		return ""
	}
	return "l=" + value
}

// list reads a version in pages, with writes between them, and compares it with the model.
func (w *world) list(t *rapid.T, version uint64, value string, limit int64) {
	opts := metav1.ListOptions{
		ResourceVersion: FormatVersion(version), ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		LabelSelector: selector(value), Limit: limit,
	}
	got := state{}
	for {
		page, err := w.objects.List("", opts)
		switch {
		case version > w.version:
			if !apierrors.IsTimeout(err) {
				t.Fatalf("an exact list at %d, ahead of %d: %v", version, w.version, err)
			}
			return
		case version < w.floor:
			if !apierrors.IsResourceExpired(err) {
				t.Fatalf("an exact list at %d, below %d: %v", version, w.floor, err)
			}
			return
		case err != nil:
			t.Fatalf("an exact list at %d between %d and %d: %v", version, w.floor, w.version, err)
		}
		if page.Version != version {
			t.Fatalf("an exact list at %d is at %d", version, page.Version)
		}
		for _, item := range page.Items {
			if _, twice := got[item.Key]; twice {
				t.Fatalf("%s is listed twice", item.Key)
			}
			got[item.Key] = fmt.Sprint(item.Object.GetLabels()["l"], "@", item.Object.GetResourceVersion())
		}
		if page.Continue == "" {
			break
		}
		opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
		w.write(t, "between", rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "write between pages"))
	}
	if want := w.states[version].where(value); !maps.Equal(got, want) {
		t.Fatalf("listed %v at %d, want %v", got, version, want)
	}
}

// open starts a watcher at a version whose state the model knows.
func (w *world) open(t *rapid.T, version uint64, value string) {
	watcher, err := w.objects.Watch("", metav1.ListOptions{ResourceVersion: FormatVersion(version), LabelSelector: selector(value)})
	if version < w.floor {
		if !IsStreamError(err) || !apierrors.IsResourceExpired(err) {
			t.Fatalf("a watch at %d, below %d: %v", version, w.floor, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	w.views = append(w.views, &view{watcher: watcher, value: value, state: w.states[version].where(value), last: version})
}

// drain applies all that a watcher has for its view, and compares the two.
func (w *world) drain(t *rapid.T, v *view) {
	for {
		events, changed, err := v.watcher.Next(2)
		if err != nil {
			if v.last >= w.floor || !apierrors.IsResourceExpired(err) {
				t.Fatalf("a watcher at %d was ended though the history reaches back to %d: %v", v.last, w.floor, err)
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
	if want := w.states[w.version].where(v.value); !maps.Equal(v.state, want) {
		t.Fatalf("the events add up to %v, want %v", v.state, want)
	}
	v.last = w.version
}

// apply folds one event into the view. It must be legal: ADDED what is not there, MODIFIED or DELETED what is.
func (v *view) apply(t *rapid.T, event *Event) {
	key := event.Object.GetName()
	_, exists := v.state[key]
	if exists == (event.Type == watch.Added) {
		t.Fatalf("%s %s, but it was there: %v", event.Type, key, exists)
	}
	if event.Version <= v.last || event.Object.GetResourceVersion() != FormatVersion(event.Version) {
		t.Fatalf("%s %s@%s after version %d", event.Type, key, event.Object.GetResourceVersion(), v.last)
	}
	v.last = event.Version
	if event.Type == watch.Deleted {
		delete(v.state, key)
		return
	}
	v.state[key] = fmt.Sprint(event.Object.GetLabels()["l"], "@", event.Version)
}

// Any sequence of writes, compactions and restores leaves lists and watches that a twin remembering everything would give.
func TestHistoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(1, 12).Draw(t, "limit"))
		key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		value := rapid.SampledFrom([]string{"", "x", "y"})
		anyVersion := func(t *rapid.T) uint64 {
			return rapid.Uint64Range(max(w.floor, 2)-1, w.version+1).Draw(t, "version")
		}
		t.Repeat(map[string]func(*rapid.T){
			"write":   func(t *rapid.T) { w.write(t, key.Draw(t, "key"), value.Draw(t, "value")) },
			"again":   func(t *rapid.T) { w.write(t, key.Draw(t, "key"), value.Draw(t, "value")) },
			"skip":    func(t *rapid.T) { w.skip(rapid.Uint64Range(1, 3).Draw(t, "n")) },
			"compact": func(*rapid.T) { w.compact() },
			"restore": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "rarely") == 0 {
					w.restore(t, anyVersion(t))
				}
			},
			"list": func(t *rapid.T) {
				w.list(t, anyVersion(t), value.Draw(t, "value"), rapid.Int64Range(0, 3).Draw(t, "limit"))
			},
			"watch": func(t *rapid.T) { w.open(t, min(anyVersion(t), w.version), value.Draw(t, "value")) },
			"drain": func(t *rapid.T) {
				for _, v := range w.views {
					if !v.ended {
						w.drain(t, v)
					}
				}
			},
		})
	})
}
