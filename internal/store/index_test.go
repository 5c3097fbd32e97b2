package store

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// found returns the sorted keys that an index finds now.
func (r *rig) found(t *testing.T, index, value string) []string {
	t.Helper()
	snapshot := r.Snapshot()
	keys, err := snapshot.IndexKeys(index, value)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := snapshot.ByIndex(index, value)
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, o := range objects {
		of = append(of, o.Key)
	}
	slices.Sort(keys)
	slices.Sort(of)
	if !slices.Equal(keys, of) {
		t.Errorf("IndexKeys finds %q, ByIndex %q", keys, of)
	}
	return keys
}

func (r *rig) expectFound(t *testing.T, index, value string, want ...string) {
	t.Helper()
	if got := r.found(t, index, value); !slices.Equal(got, want) {
		t.Errorf("index %q finds %q under %q, want %q", index, got, value, want)
	}
}

func TestIndexFollowsItsObjects(t *testing.T) {
	r := newRig()
	r.relist("1", obj("a/1@1", "x", "y", "x"), obj("b/1@1", "x"))
	r.expectFound(t, "group", "x", "a", "b")
	r.expectFound(t, "group", "y", "a")
	r.apply(watch.Modified, obj("a/1@2", "z", "y"))
	r.expectFound(t, "group", "x", "b")
	r.expectFound(t, "group", "y", "a")
	r.expectFound(t, "group", "z", "a")
	r.apply(watch.Deleted, obj("a/1@3", "never seen"))
	r.expectFound(t, "group", "y")
	r.expectFound(t, "group", "z")
	r.relist("5", obj("c/1@5", "x"), obj("d/1@5"))
	r.expectFound(t, "group", "x", "c")
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// C16: a value that no object has any more is gone, not an empty bucket.
func TestEmptyIndexValuesDisappear(t *testing.T) {
	r := newRig()
	for i := range 100 {
		group := strings.Repeat("g", i+1)
		r.apply(watch.Added, obj("a/1@", group))
		got, err := r.Snapshot().IndexValues("group")
		if err != nil || !slices.Equal(got, []string{group}) {
			t.Fatalf("IndexValues() = %q, %v, want %q alone", got, err, group)
		}
	}
	r.apply(watch.Deleted, obj("a/1@"))
	if got, err := r.Snapshot().IndexValues("group"); err != nil || len(got) != 0 {
		t.Errorf("IndexValues() = %q, %v of an empty store", got, err)
	}
}

// C18: what an entry was indexed under is remembered, not recomputed.
func TestMutatedObjectLeavesNoStaleIndexEntry(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"deleted":  func(r *rig) { r.apply(watch.Deleted, obj("a/1@2", "y")) },
		"removed":  func(r *rig) { _ = r.Remove(obj("a")) },
		"modified": func(r *rig) { r.apply(watch.Modified, obj("a/1@2", "z")) },
		"relisted": func(r *rig) { r.relist("2") },
	} {
		r := newRig()
		r.relist("1", obj("a/1@1", "x"))
		cached, _ := r.Get("a")
		cached.Groups[0], cached.Text = "y", "changed"
		end(r)
		r.expectFound(t, "group", "x")
		r.expectFound(t, "group", "y")
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A function may return the same slice each time; it is neither kept nor sorted.
func TestSharedSliceOfAnIndexFunction(t *testing.T) {
	shared := []string{"b", "a", "b"}
	r := newRig(func(c *Config[*object]) {
		c.Indexers = map[string]IndexFunc[*object]{
			"shared": func(*object) ([]string, error) { return shared, nil },
			"one":    func(*object) ([]string, error) { return shared[:1], nil },
		}
	})
	r.apply(watch.Added, obj("k/1@1"))
	if !slices.Equal(shared, []string{"b", "a", "b"}) {
		t.Fatalf("the function's slice was changed to %q", shared)
	}
	shared[0], shared[1], shared[2] = "c", "c", "c"
	r.expectFound(t, "shared", "a", "k")
	r.expectFound(t, "one", "b", "k")
	r.apply(watch.Modified, obj("k/1@2"))
	r.expectFound(t, "shared", "a")
	r.expectFound(t, "shared", "c", "k")
	r.expectFound(t, "one", "b")
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

func TestFailingIndexFunctionCostsOneIndex(t *testing.T) {
	for _, fault := range []string{"index", "index panic"} {
		for name, options := range map[string][]func(*Config[*object]){"live": nil, "packed": {packing}} {
			r := newRig(append(options, func(c *Config[*object]) { c.Indexers["uid"] = keyAndUID })...)
			r.relist("1", obj("a/1@1", "x"))
			r.apply(watch.Modified, obj("a/1@2", "x").with(fault))
			if got := r.reported(); len(got) != 1 || !strings.Contains(got[0], `index "group"`) {
				t.Errorf("%s, %s: reported %q, want the index's name", fault, name, got)
			}
			r.expectFound(t, "group", "x")
			r.expectFound(t, "uid", "1", "a")
			r.expect(t, []string{"add a/1@1 (initial)", "update a/1@1→/1@2"}, "a/1@2")
			r.apply(watch.Modified, obj("a/1@3", "x"))
			r.expectFound(t, "group", "x", "a")
		}
	}
}

func TestAddIndexers(t *testing.T) {
	for name, options := range map[string][]func(*Config[*object]){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(options...)
			r.relist("7", obj("a/1@1", "x"), obj("b/2@1", "x").with("index panic"))
			r.batches()
			before := r.Snapshot()
			if err := r.AddIndexers(map[string]IndexFunc[*object]{"uid": keyAndUID}); err != nil {
				t.Fatal(err)
			}
			r.expectFound(t, "uid", "2", "b")
			r.expectFound(t, "group", "x", "a")
			r.expect(t, nil, "a/1@1", "b/2@1")
			if got := r.ResourceVersion(); got != "7" {
				t.Errorf("the store is at %q, want 7", got)
			}
			if _, err := before.ByIndex("uid", "2"); err == nil || !strings.Contains(err.Error(), `"uid"`) {
				t.Errorf("a snapshot from before: %v, want an error that names the index", err)
			}
			err := r.AddIndexers(map[string]IndexFunc[*object]{"more": groupsOf, "uid": keyAndUID})
			if err == nil || !strings.Contains(err.Error(), `"uid"`) {
				t.Errorf("AddIndexers of a taken name: %v", err)
			}
			if _, err := r.Snapshot().IndexKeys("more", "x"); err == nil {
				t.Error("half of the indexers were added")
			}
			indexers := r.Indexers()
			delete(indexers, "uid")
			if got := len(r.Indexers()); got != 2 {
				t.Errorf("%d indexers after a change to the copy, want 2", got)
			}
		})
	}
}

func TestAddIndexersWhileAReplacementIsMade(t *testing.T) {
	for name, options := range map[string][]func(*Config[*object]){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(options...)
			r.relist("1", obj("a/1@1", "x"), obj("b/1@1", "x"), obj("e/1@"))
			r.batches()
			next := r.Begin()
			next.Add(obj("a/1@1", "x").item())
			next.Add(obj("e/1@").with("decode").item())
			if err := r.AddIndexers(map[string]IndexFunc[*object]{"uid": keyAndUID}); err != nil {
				t.Fatal(err)
			}
			next.Add(obj("b/1@1", "x").item())
			next.Add(obj("c/2@2", "x").item())
			next.Commit("2")
			r.expect(t, []string{"add c/2@2"}, "a/1@1", "b/1@1", "c/2@2", "e/1@")
			r.expectFound(t, "uid", "1", "a", "b", "e")
			r.expectFound(t, "uid", "2", "c")
			r.expectFound(t, "group", "x", "a", "b", "c")
		})
	}
}
