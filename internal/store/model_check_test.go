// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/internal/testing/random"
)

// check compares the store with the model. One call in four also takes a snapshot, which makes the
// next write copy a page, and so should not precede every write.
func (m *machine) check(t *random.T) {
	if got, want := m.Len(), len(m.model.live); got != want {
		t.Fatalf("%d entries, want %d", got, want)
	}
	if got, want := m.ResourceVersion(), m.model.version; got != want {
		t.Fatalf("resourceVersion %q, want %q", got, want)
	}
	if got, want := m.quarantine.failures(), m.model.quarantine; len(got) != len(want) || m.Quarantined() != len(want) {
		t.Fatalf("%v quarantined, want %v", got, want)
	}
	for key, want := range m.model.quarantine {
		if got, ok := m.quarantine.failed(key); !ok || got.version != want.version || got.unreadable != want.unreadable || got.err == nil {
			t.Fatalf("%q is quarantined for %+v, %v, want %+v", key, got, ok, want)
		}
	}
	if !maps.EqualFunc(m.replayed, m.model.live, func(e *Entry, want *modelEntry) bool {
		uid, version := identified(e)
		return uid == want.object.UID && version == want.object.Version
	}) {
		t.Fatalf("the log makes %v, want %v", m.replayed, m.model.live)
	}
	if t.Range("check all", 0, 3) != 0 {
		return
	}
	if err := m.validate(); err != nil {
		t.Fatal(err)
	}
	if len(m.kept) > 0 {
		m.compare(t, m.kept[t.Range("snapshot", 0, len(m.kept)-1)])
	}
}

// compare compares a snapshot with the state of the model when it was taken.
func (m *machine) compare(t *random.T, s keptSnapshot) {
	t.Helper()
	want := map[string]*object{}
	for key, e := range s.live {
		if o, ok := m.model.read(key, e); ok {
			want[key] = o
		}
	}
	if got := maps.Collect(s.All()); !maps.EqualFunc(got, want, sameObjects) {
		t.Fatalf("a snapshot has %v, want %v", got, want)
	}
	if len(s.List()) != len(want) || s.Len() != len(s.live) || s.ResourceVersion() != s.version {
		t.Fatalf("a snapshot lists %v of %d at %q, want %d of %d at %q", s.List(), s.Len(), s.ResourceVersion(), len(want), len(s.live), s.version)
	}
	for _, index := range s.names {
		m.compareIndex(t, s, index)
	}
}

func (m *machine) compareIndex(t *random.T, s keptSnapshot, index string) {
	t.Helper()
	keys, readable := map[string][]string{}, map[string]int{}
	for key, e := range s.live {
		for _, value := range e.values[index] {
			keys[value] = append(keys[value], key)
			if !*e.bad {
				readable[value]++
			}
		}
	}
	got, err := s.IndexValues(index)
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(keys)); err != nil || !slices.Equal(got, want) {
		t.Fatalf("index %q has the values %q, %v, want %q", index, got, err, want)
	}
	for value, want := range keys {
		got, err := s.IndexKeys(index, value)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("index %q has the keys %q, %v under %q, want %q", index, got, err, value, want)
		}
		if objects, err := s.ByIndex(index, value); err != nil || len(objects) != readable[value] {
			t.Fatalf("index %q has the objects %v, %v under %q, want %d", index, objects, err, value, readable[value])
		}
	}
}

func sameObjects(value any, b *object) bool {
	a := value.(*object)
	return a.String() == b.String() && a.Text == b.Text && strings.Join(a.Groups, " ") == strings.Join(b.Groups, " ")
}

// replayLog applies the new events of the log to m.replayed. It fails on any event unless mayEmit
// is set, and unless it has exactly the updates to the same version that the model expects. With
// mayRepeat, it may have others.
func (m *machine) replayLog(t *random.T, mayEmit, mayRepeat bool) {
	t.Helper()
	repeats := m.model.repeats
	maps.DeleteFunc(repeats, func(_ string, repeats bool) bool { return !repeats })
	defer clear(repeats)
	for batch, ok := m.cursor.TryNext(); ok; batch, ok = m.cursor.TryNext() {
		for i, change := range batch {
			if err := m.replay(change, mayEmit, mayRepeat); err != nil {
				t.Fatalf("event %d of %d, %s: %v", i, len(batch), m.describe(change), err)
			}
			if change.New == nil && i > 0 && batch[i-1].New != nil {
				t.Fatalf("a deletion after another change in a batch: %s", m.describe(change))
			}
		}
	}
	for key := range repeats {
		t.Fatalf("no update of %q to another state of the same version", key)
	}
}

func (m *machine) replay(change Change, mayEmit, mayRepeat bool) error {
	last, known := m.replayed[change.Key]
	if o := m.model.unstored; o != nil {
		m.model.unstored = nil
		value, ok := m.TryLoad(change.Final)
		if known || change.New != nil || change.Old != change.Final || change.Key != o.Key || !ok || !sameObjects(value, o) {
			return fmt.Errorf("not the deletion of %v, which was never stored", o)
		}
		return nil
	}
	switch {
	case !mayEmit:
		return fmt.Errorf("an event, but no change")
	case (change.Old != nil) != known:
		return fmt.Errorf("the key exists in the replayed state: %v", known)
	case known && (last.identity() != change.Old.identity()):
		return fmt.Errorf("Old is not the replayed state")
	case change.New == nil && (!known || change.Final != nil && !last.sameObject(change.Final.identity())):
		return fmt.Errorf("a deletion of another object")
	case change.New == nil:
		delete(m.replayed, change.Key)
		return nil
	case known && !last.sameObject(change.New.identity()):
		return fmt.Errorf("an update to another object")
	case known && last.sameVersion(change.New.identity()) && !mayRepeat && !m.model.repeats[change.Key]:
		return fmt.Errorf("the same version again")
	}
	delete(m.model.repeats, change.Key)
	m.replayed[change.Key] = change.New
	return nil
}
