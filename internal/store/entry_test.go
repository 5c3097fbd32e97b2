package store

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// distinctMetas counts the metas that a store's entries point to.
func (r *rig) distinctMetas() int {
	metas := map[*meta]bool{}
	for _, entry := range r.Snapshot().entries.All() {
		metas[entry.Meta.meta] = true
	}
	return len(metas)
}

func TestEntriesOfOneNamespaceShareTheirMeta(t *testing.T) {
	r := newRig()
	var list []*object
	for i := range 1000 {
		list = append(list, obj(fmt.Sprintf("%d/1@1", i), fmt.Sprintf("namespace-%d", i/250)))
	}
	r.relist("1", list...)
	if got := r.distinctMetas(); got != 4 {
		t.Errorf("%d metas after a list of 4 namespaces, want 4", got)
	}
	for i := range 1000 {
		r.apply(watch.Modified, obj(fmt.Sprintf("%d/1@2", i), fmt.Sprintf("namespace-%d", i/250)))
	}
	if got := r.distinctMetas(); got != 4 {
		t.Errorf("%d metas after an update of each, want 4", got)
	}
	if err := r.AddIndexers(map[string]IndexFunc[*object]{"text": func(o *object) ([]string, error) { return []string{o.Text}, nil }}); err != nil {
		t.Fatal(err)
	}
	if got := r.distinctMetas(); got != 4 {
		t.Errorf("%d metas after another index, want 4", got)
	}
}

func TestEntryWithoutIndexHasNoMeta(t *testing.T) {
	r := newRig(func(c *Config[*object]) { c.Indexers = nil })
	r.apply(watch.Added, obj("a/1@1"))
	if entry := r.Snapshot().Entry("a"); entry.meta != nil {
		t.Errorf("the entry has the meta %+v, of which it needs nothing", entry.meta)
	}
}

// A transform may clear UID and version: the entry remembers what the item said.
func TestIdentityIsTheServersNotTheTransforms(t *testing.T) {
	r := newRig(func(c *Config[*object]) {
		c.Identity = func(*object) (string, string) { return "", "" }
	})
	r.relist("1", obj("a/1@1"))
	r.apply(watch.Modified, obj("a/1@1"))
	r.apply(watch.Modified, obj("a/1@2"))
	r.relist("3", obj("a/1@2"))
	r.apply(watch.Added, obj("a/2@4"))
	r.expect(t, []string{"add a/1@1 (initial)", "update a/1@1→/1@2", "delete a/1@2, add a/2@4"}, "a/2@4")
}

// What a state remembered because a transform had cleared it is not the next one's.
func TestIdentityIsNotInherited(t *testing.T) {
	for name, options := range map[string][]func(*Config[*object]){"live": nil, "packed": {packing}} {
		r := newRig(append(options, func(c *Config[*object]) {
			c.Identity = func(o *object) (string, string) {
				if o.Text == "cleared" {
					return "", ""
				}
				return o.UID, o.Version
			}
		})...)
		for i, text := range []string{"cleared", "", "cleared", ""} {
			o := obj(fmt.Sprintf("a/1@%d", i+1), "g")
			o.Text = text
			r.apply(watch.Modified, o)
			if uid, version := identified(r.Snapshot().Entry("a")); uid != "1" || version != o.Version {
				t.Errorf("%s: the entry of %v says %q, %q", name, o, uid, version)
			}
		}
	}
}

// A caller who writes into a cached object, as controller-runtime's Update does
// with the server's answer, must not make the real event look like old news.
func TestMutatedIdentityHidesNoEvent(t *testing.T) {
	for _, version := range []string{"2", "3", "9", "", "x"} {
		r := newRig()
		r.relist("1", obj("a/1@1"))
		cached, _ := r.Get("a")
		cached.Version = version
		r.apply(watch.Modified, obj("a/1@2"))
		if got := contents(r.Snapshot()); !slices.Equal(got, []string{"a/1@2"}) || len(r.batches()) != 2 {
			t.Errorf("version set to %q in the cached object: the store holds %q", version, got)
		}
		cached, _ = r.Get("a")
		cached.Version = version
		r.relist("3", obj("a/1@3"))
		if got := contents(r.Snapshot()); !slices.Equal(got, []string{"a/1@3"}) || len(r.batches()) != 1 {
			t.Errorf("version set to %q in the cached object: the store holds %q after a relist", version, got)
		}
	}
}

func TestPutAndRemove(t *testing.T) {
	r := newRig()
	for _, o := range []*object{obj("a/1@5", "x"), obj("a/1@3", "y"), obj("a/1@3", "z"), obj("a/2@4")} {
		if err := r.Put(o); err != nil {
			t.Fatal(err)
		}
		if got, ok := r.Get("a"); !ok || got != o {
			t.Errorf("Get() = %v, want the object that was put", got)
		}
	}
	r.expectFound(t, "group", "z")
	for range 2 { // a key that is not there is no error
		if err := r.Remove(obj("a")); err != nil {
			t.Fatal(err)
		}
	}
	r.expect(t, []string{"add a/1@5", "update a/1@5→/1@3", "update a/1@3→/1@3", "delete a/1@3, add a/2@4", "delete a/2@4"})
	for _, fault := range []string{"key", "key panic"} {
		if err := r.Put(obj("b").with(fault)); err == nil {
			t.Errorf("Put: no error of a %s", fault)
		}
		if err := r.Remove(obj("b").with(fault)); err == nil {
			t.Errorf("Remove: no error of a %s", fault)
		}
	}
	if r.Quarantined() != 0 {
		t.Error("a caller's error quarantined a key")
	}
}
