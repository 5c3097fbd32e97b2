// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
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

// An object that leaves the filter is recorded as filtered out before its entry is removed, so that
// no handler receives the deletion and takes the object for deleted.
func TestObjectIsFilteredOutBeforeItIsRemoved(t *testing.T) {
	var sink *filterSink[string]
	config := Config[string]{Filter: visible, Store: stringStore()}
	config.Store.Identity = func(object string) (string, string) { return "uid-a", "" }
	removing := false
	config.Store.Decode = func(i feed.Item) (string, error) {
		if string(i.Raw) == "a=hidden" { // the state at deletion, decoded right before the removal
			removing = true
			if !sink.isFilteredOut("a", "uid-a") {
				t.Error("the object is being removed and not recorded as filtered out")
			}
		}
		return string(i.Raw), nil
	}
	sink = New(config).sink
	sink.Apply(watch.Added, rawItem("a=1", "1"))
	sink.Apply(watch.Modified, rawItem("a=hidden", "2"))
	if !removing || sink.Len() != 0 {
		t.Errorf("the object was not removed: %d objects", sink.Len())
	}
}

// checkedReplacement calls check before Commit.
type checkedReplacement struct {
	feed.Replacement
	check func()
}

func (r checkedReplacement) Commit(version string) error {
	r.check()
	return r.Replacement.Commit(version)
}

// The same holds for an object that a list shows outside of the filter.
func TestListedObjectIsFilteredOutBeforeItIsRemoved(t *testing.T) {
	sink := New(Config[string]{Filter: visible, Store: stringStore()}).sink
	sink.Apply(watch.Added, rawItem("a=1", "1"))
	next := sink.Begin().(*filterReplacement[string])
	next.Replacement = checkedReplacement{next.Replacement, func() {
		if sink.Len() != 1 || !sink.isFilteredOut("a", "uid-a") {
			t.Errorf("%d objects are stored; a is filtered out: %v", sink.Len(), sink.isFilteredOut("a", "uid-a"))
		}
	}}
	next.Add(rawItem("a=hidden", "2"))
	if err := next.Commit("2"); err != nil || sink.Len() != 0 {
		t.Errorf("%d objects after the list, error %v", sink.Len(), err)
	}
}

// failingReplacement is a replacement whose Commit fails.
type failingReplacement struct{ feed.Replacement }

func (failingReplacement) Commit(string) error { return errors.New("refused") }

// A list that cannot be committed changes nothing, neither which objects are filtered out.
func TestFailedCommitKeepsWhatIsFilteredOut(t *testing.T) {
	config := Config[string]{Filter: visible, Store: stringStore()}
	sink := New(config).sink
	sink.Apply(watch.Added, rawItem("a=1", "1"))
	sink.Apply(watch.Modified, rawItem("a=hidden", "2"))
	next := sink.Begin().(*filterReplacement[string])
	next.Replacement = failingReplacement{next.Replacement}
	next.Add(rawItem("a=2", "3"))
	if err := next.Commit("3"); err == nil {
		t.Fatal("Commit returned nil, want an error")
	}
	if !sink.isFilteredOut("a", "uid-a") {
		t.Error("the object is not recorded as filtered out any more")
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
				sink := New(Config[string]{Filter: visible, Store: stringStore()}).sink
				list := sink.Begin()
				for _, listed := range row.list {
					object, version, _ := strings.Cut(listed, "@")
					add(list, rawItem(object, version))
				}
				if err := list.Commit("9"); err != nil {
					t.Fatal(err)
				}
				if got := sink.Snapshot().List(); !slices.Equal(got, row.stored) {
					t.Errorf("the store has %q, want %q", got, row.stored)
				}
			})
		}
	}
}

// The filter comes before the transform: objects that a list has and the filter refuses are not
// transformed.
func TestRefusedObjectsOfAListAreNotTransformed(t *testing.T) {
	config := Config[string]{Filter: visible, Store: stringStore()}
	config.Store.Transforms = func() bool { return true }
	config.Store.Decode = func(i feed.Item) (string, error) {
		text := i.Object.(rawObject).text
		if strings.HasSuffix(text, "=hidden") {
			t.Errorf("%s was transformed", text)
		}
		return text, nil
	}
	next := New(config).sink.Begin()
	next.Add(rawItem("a=hidden", "1"))
	next.Add(rawItem("b=1", "2"))
	if err := next.Commit("3"); err != nil {
		t.Error(err)
	}
}
