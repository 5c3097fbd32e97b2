package store

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

const aUID = "8b0c3c1e-5f0a-4a3e-9d7e-0123456789ab"

// Whatever the form of an identity, an entry at rest gives it back; the form that API
// servers use takes no text.
func TestPackedIdentity(t *testing.T) {
	for _, c := range []struct {
		uid, version string
		compact      bool
	}{
		{aUID, "1", true},
		{aUID, "18446744073709551615", true},
		{"00000000-0000-0000-0000-000000000000", "7", true},
		{aUID, "", false},
		{aUID, "0", false},
		{aUID, "007", false},
		{aUID, "+7", false},
		{aUID, "18446744073709551616", false},
		{aUID, "abc", false},
		{"", "1", false},
		{"", "", false},
		{"8B0C3C1E-5f0a-4a3e-9d7e-0123456789ab", "1", false},
		{"8b0c3c1e-5f0a-4a3e-9d7e-0123456789a", "1", false},
		{"8b0c3c1e-5f0a-4a3e-9d7e0-123456789ab", "1", false},
		{"8b0c3c1e-5f0a-4a3e-9d7e-0123456789a-", "1", false},
		{"uid", "1", false},
	} {
		r := newRig(packing)
		o := &object{Key: "a", UID: c.uid, Version: c.version}
		r.relist("1", o)
		entry := r.Snapshot().Entry("a")
		if uid, version := r.identity(entry); uid != c.uid || version != c.version {
			t.Errorf("%q, %q became %q, %q", c.uid, c.version, uid, version)
		}
		if owns := entry.meta != nil && entry.meta.ownsIdentity; owns == c.compact {
			t.Errorf("%q, %q: kept as text: %v", c.uid, c.version, owns)
		}
	}
}

// An object that somebody holds is decoded once: all readers get the same. One that
// nobody holds is forgotten.
func TestDecodedObjectsAreRememberedWeakly(t *testing.T) {
	r := newRig(packing)
	r.relist("1", obj("a/1@1"))
	func() {
		first, _ := r.Get("a")
		again, _ := r.Snapshot().Get("a")
		listed := r.Snapshot().List()
		if first != again || first != listed[0] {
			t.Error("one object was decoded several times")
		}
		runtime.KeepAlive(first)
	}()
	p := packedOf(r.entries.Get("a"))
	for range 100 { // cleanups run in a goroutine of the runtime's
		if p.live.Load() == nil {
			break
		}
		runtime.GC()
		runtime.Gosched()
	}
	if p.live.Load() != nil {
		t.Error("what nobody holds is still remembered")
	}
	if o, ok := r.Get("a"); !ok || o.Version != "1" {
		t.Errorf("Get() = %v, %v after it was forgotten", o, ok)
	}
}

// Readers at the same time agree on one object.
func TestReadersOfAPackedEntryAgree(t *testing.T) {
	for range 50 {
		r := newRig(packing)
		r.relist("1", obj("a/1@1"))
		var group sync.WaitGroup
		got := make([]*object, 8)
		for i := range got {
			group.Go(func() { got[i], _ = r.Get("a") })
		}
		group.Wait()
		for _, o := range got {
			if o != got[0] {
				t.Fatalf("readers hold %p and %p", got[0], o)
			}
		}
	}
}

// A state is packed against the one that it replaces, and each is read as it was.
func TestUpdatesOfPackedEntries(t *testing.T) {
	r := newRig(packing)
	for i := range 50 {
		o := obj(fmt.Sprintf("a/1@%d", i+1), "g")
		o.Text = fmt.Sprint("text ", i)
		r.apply(watch.Modified, o)
		snapshot := r.Snapshot()
		got, ok := snapshot.Get("a")
		if !ok || got.Text != o.Text || got.Version != o.Version || !slices.Equal(got.Groups, o.Groups) {
			t.Fatalf("got %v, %v, want %v", got, ok, o)
		}
	}
}
