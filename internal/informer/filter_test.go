// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// visible is a filter that refuses objects in the state "hidden".
func visible(obj runtime.Object) bool { return !strings.HasSuffix(obj.(rawObject).text, "=hidden") }

// rawItem returns an item that a filter can decode.
func rawItem(object, version string) feed.Item {
	i := item(object, version)
	i.Codec = rawObjectCodec{}
	return i
}

// TestChangeOfARefusedObjectSaysThatItExists checks LeftScope of the deletions in the log: it is
// set where the filter refuses a state of an object that was stored, and says what was true then.
func TestChangeOfARefusedObjectSaysThatItExists(t *testing.T) {
	informer := New(Config{Filter: visible, Store: stringStore()})
	cursor := informer.log.Cursor()
	deletion := func() string {
		for {
			batch, ok := cursor.TryNext()
			if !ok {
				return "none"
			}
			if last := batch[len(batch)-1]; last.New == nil {
				return fmt.Sprintf("%s left %v", last.Key, last.LeftScope)
			}
		}
	}
	list := func(version string, items ...feed.Item) func() {
		return func() { replace(t, informer, version, items...) }
	}
	event := func(eventType watch.EventType, object, version string) func() {
		return func() { informer.feed.Apply(eventType, rawItem(object, version)) }
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{event(watch.Added, "a=1", "1"), "none"},
		{event(watch.Modified, "a=hidden", "2"), "a left true"},
		{event(watch.Deleted, "a=hidden", "3"), "none"}, // which the handler need not have seen before
		{event(watch.Added, "a=1", "4"), "none"},
		{event(watch.Deleted, "a=hidden", "5"), "a left false"},
		{list("6", rawItem("a=1", "6")), "none"},
		{list("7", rawItem("a=hidden", "7")), "a left true"},
		{list("8", rawItem("a=1", "8")), "none"},
		{list("9", rawItem("a=hidden", "9"), rawItem("a=2", "10")), "none"}, // the newest state passes
		{list("11"), "a left false"},
	} {
		step.do()
		if got := deletion(); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
}

// TestDeletionOfAnObjectThatIsGoneHasNoLeftScope checks deletions that are logged for an event that
// the filter refuses, although the stored object does not exist any more: it was recreated, or the
// event is its deletion, and a transform has renamed it.
func TestDeletionOfAnObjectThatIsGoneHasNoLeftScope(t *testing.T) {
	recreated := rawItem("a=hidden", "2")
	recreated.UID = "uid of another object"
	for name, row := range map[string]struct {
		eventType watch.EventType
		item      feed.Item
		renames   bool
	}{
		"recreated": {watch.Added, recreated, false},
		"deleted":   {watch.Deleted, rawItem("a=hidden", "2"), true},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Filter: visible, Store: stringStore()}
			config.Store.EmitUnstoredDeletions = true
			config.Store.Transforms = func() bool { return row.renames }
			key := config.Store.Key
			config.Store.Key = func(object any) (string, error) {
				own, err := key(object)
				return "renamed " + own, err
			}
			config.Store.Decode = func(item feed.Item) (any, error) { return item.Object.(rawObject).text, nil }
			informer := New(config)
			cursor := informer.log.Cursor()
			informer.feed.Apply(watch.Added, rawItem("a=1", "1"))
			cursor.TryNext()
			informer.feed.Apply(row.eventType, row.item)
			batch, ok := cursor.TryNext()
			if !ok || len(batch) != 1 || batch[0].New != nil || batch[0].LeftScope {
				t.Errorf("got the changes %+v, want a deletion without LeftScope", batch)
			}
		})
	}
}

// If a list has an object more than once, the newest state decides whether it passes the filter.
func TestNewestStateOfARepeatedObjectIsFiltered(t *testing.T) {
	for _, row := range []struct {
		name   string
		list   []string // object@version
		stored []string
	}{
		{"refused, then older and passes", []string{"a=hidden@6", "a=1@5"}, []string{}},
		{"refused, then newer and passes", []string{"a=hidden@5", "a=1@6"}, []string{"a=1"}},
		{"passes, then newer and refused", []string{"a=1@5", "a=hidden@6"}, []string{}},
		{"passes, then older and refused", []string{"a=1@6", "a=hidden@5"}, []string{"a=1"}},
		{"refused, then older and refused, then passes between", []string{"a=hidden@7", "a=hidden@5", "a=1@6"}, []string{}},
		{"versions that cannot be compared", []string{"a=hidden@x", "a=1@y"}, []string{"a=1"}},
	} {
		for method, add := range map[string]func(feed.Replacement, feed.Item){"Add": feed.Replacement.Add, "Update": feed.Replacement.Update} {
			t.Run(row.name+", "+method, func(t *testing.T) {
				informer := New(Config{Filter: visible, Store: stringStore()})
				list := informer.feed.Begin()
				for _, listed := range row.list {
					object, version, _ := strings.Cut(listed, "@")
					add(list, rawItem(object, version))
				}
				if err := list.Commit("9"); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, object := range informer.store.Snapshot().List() {
					got = append(got, object.(string))
				}
				if !slices.Equal(got, row.stored) {
					t.Errorf("the store has %q, want %q", got, row.stored)
				}
			})
		}
	}
}

// The filter comes before the transform: objects that a list has and the filter refuses are not
// transformed.
func TestRefusedObjectsOfAListAreNotTransformed(t *testing.T) {
	config := Config{Filter: visible, Store: stringStore()}
	config.Store.Transforms = func() bool { return true }
	config.Store.Decode = func(i feed.Item) (any, error) {
		text := i.Object.(rawObject).text
		if strings.HasSuffix(text, "=hidden") {
			t.Errorf("%s was transformed", text)
		}
		return text, nil
	}
	replace(t, New(config), "3", rawItem("a=hidden", "1"), rawItem("b=1", "2"))
}

// The deletion of an object that was never stored is logged unless the filter keeps the object out
// in its state at deletion, or has removed it. The filter is called only to decide that.
func TestFilterExplainsDeletionsOfUnstoredObjects(t *testing.T) {
	type step struct {
		eventType watch.EventType
		object    string
		version   string
		calls     int    // of the filter
		deleted   string // the state at deletion that is logged
	}
	for emits, steps := range map[bool][]step{
		false: {{watch.Deleted, "a=1", "1", 0, ""}, {watch.Deleted, "a=hidden", "2", 0, ""}},
		true: {
			{watch.Added, "a=1", "1", 1, ""},
			{watch.Added, "b=hidden", "2", 1, ""},
			{watch.Deleted, "b=hidden", "3", 1, ""},
			{watch.Modified, "a=hidden", "4", 1, "a=hidden"},
			{watch.Deleted, "a=hidden", "5", 1, ""}, // which the filter had removed
			{watch.Deleted, "a=3", "6", 1, "a=3"},
			{watch.Deleted, "c=1", "6", 0, ""}, // at a version that was reached
			{watch.Deleted, "c=1", "7", 1, "c=1"},
			{watch.Added, "d=1", "8", 1, ""},
			{watch.Deleted, "d=hidden", "9", 0, "d=hidden"},
			{watch.Deleted, "e=hidden", "1 in order", 1, ""},
			{watch.Deleted, "e=1", "1 in order", 1, "e=1"},
		},
	} {
		calls := 0
		config := Config{Store: stringStore(), Filter: func(obj runtime.Object) bool {
			calls++
			return visible(obj)
		}}
		config.Store.EmitUnstoredDeletions = emits
		informer := New(config)
		cursor := informer.log.Cursor()
		for _, s := range steps {
			calls = 0
			version, _, inOrder := strings.Cut(s.version, " ")
			state := rawItem(s.object, version)
			state.InOrder = inOrder
			informer.feed.Apply(s.eventType, state)
			deleted := ""
			if batch, ok := cursor.TryNext(); ok && batch[0].New == nil {
				final, _ := informer.store.TryLoad(batch[0].Final)
				deleted = textOf(final)
			}
			if deleted != s.deleted || calls != s.calls {
				t.Errorf("emits %v: %+v: deleted %q, %d calls of the filter", emits, s, deleted, calls)
			}
		}
	}
}
