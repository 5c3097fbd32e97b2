// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/pack"
)

// countingPacker is a jsonPacker that counts the objects it unpacks, and says that they take size
// bytes.
type countingPacker struct {
	jsonPacker
	size     int
	unpacked atomic.Int64
}

func (p *countingPacker) Unpack(packed pack.Object) (*object, int, error) {
	p.unpacked.Add(1)
	o, _, err := p.jsonPacker.Unpack(packed)
	return o, p.size, err
}

// expectUnpacked checks how many objects were unpacked since the last call.
func (p *countingPacker) expectUnpacked(t *testing.T, want int64, by string) {
	t.Helper()
	if got := p.unpacked.Swap(0); got != want {
		t.Errorf("%s: %d objects were unpacked, want %d", by, got, want)
	}
}

// hotObject is the size of the objects of a countingPacker.
const hotObject = 10 << 10

// newHotHarness returns a packed store with n objects "0", "1" and so on, which keeps up to
// capacity decoded objects.
func newHotHarness(n, capacity int) (*harness, *countingPacker) {
	packer := &countingPacker{jsonPacker: jsonPacker{pack.New()}, size: hotObject}
	h := newHarness(func(c *Config[*object]) { c.Packer, c.HotBytes = packer, int64(capacity*hotObject) })
	h.relist("1", numbered(n)...)
	for _, ok := h.cursor.TryNext(); ok; _, ok = h.cursor.TryNext() {
	}
	return h, packer
}

func numbered(n int) (objects []*object) {
	for i := range n {
		objects = append(objects, obj(fmt.Sprintf("%d/u%d@1", i, i)))
	}
	return objects
}

// update applies an update of object i, and returns its change.
func (h *harness) update(t *testing.T, i, version int) Change[*object] {
	t.Helper()
	h.apply(watch.Modified, obj(fmt.Sprintf("%d/u%d@%d", i, i, version)))
	batch, ok := h.cursor.TryNext()
	if !ok {
		t.Fatal("no change in the log")
	}
	return batch[0]
}

// deliver loads the states of a change as a handler does.
func (h *harness) deliver(c Change[*object]) {
	for _, entry := range []*Entry[*object]{c.Old, c.New, c.Final} {
		if entry != nil {
			h.Load(c.Key, entry, true)
		}
	}
}

// collect frees all objects that only weak pointers refer to.
func collect() {
	runtime.GC()
	runtime.GC()
}

// expectHot checks how many objects the hot set keeps.
func (h *harness) expectHot(t *testing.T, want int) {
	t.Helper()
	_, bytes, objects := h.PackedSize()
	if objects != want || bytes != int64(want*hotObject) {
		t.Errorf("%d decoded objects of %d bytes are kept, want %d", objects, bytes, want)
	}
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}

// An event decodes the new state. The read that follows, and the next event, whose old state it is,
// do not decode it again.
func TestDeliveredStateIsNotDecodedAgain(t *testing.T) {
	h, packer := newHotHarness(10, 4)
	h.deliver(h.update(t, 3, 2))
	packer.expectUnpacked(t, 2, "first update")
	for version := 3; version < 6; version++ {
		collect()
		if o, ok := h.Get("3"); !ok || o.Version != fmt.Sprint(version-1) {
			t.Errorf("Get() = %v, %v", o, ok)
		}
		packer.expectUnpacked(t, 0, "Get after an event")
		collect()
		change := h.update(t, 3, version)
		collect()
		h.deliver(change)
		packer.expectUnpacked(t, 1, "update")
	}
}

// An object that was read by key is not decoded by the event that follows.
func TestObjectReadByKeyIsKept(t *testing.T) {
	h, packer := newHotHarness(10, 4)
	h.Get("3")
	collect()
	h.Find("3")
	packer.expectUnpacked(t, 1, "Get")
	h.deliver(h.update(t, 3, 2))
	packer.expectUnpacked(t, 1, "update")
}

// What reads many objects at a time would displace those that are read again.
func TestBulkReadsKeepNoObject(t *testing.T) {
	h, _ := newHotHarness(10, 100)
	snapshot := h.Snapshot()
	for name, read := range map[string]func(){
		"List": func() { snapshot.List() },
		"All": func() {
			for range snapshot.All() {
			}
		},
		"Snapshot.Get":  func() { snapshot.Get("3") },
		"SelectByIndex": func() { _, _ = snapshot.SelectByIndex("group", "", nil) },
		"SelectByKey":   func() { snapshot.SelectByKey(func(string) bool { return true }, nil) },
		"Load":          func() { h.Load("3", snapshot.Entry("3"), false) },
		"TryLoad":       func() { h.TryLoad(snapshot.Entry("3")) },
		"equal":         func() { h.equal(h.entries.Get("3"), h.entries.Get("4")) },
		"AddIndexers":   func() { _ = h.AddIndexers(map[string]IndexFunc[*object]{"uid": keyAndUID}) },
	} {
		read()
		if _, _, objects := h.PackedSize(); objects != 0 {
			t.Errorf("%s keeps %d objects", name, objects)
		}
		collect() // or the next read would decode nothing
	}
}

func TestHotSetIsBounded(t *testing.T) {
	h, packer := newHotHarness(100, 4)
	for i := range 100 {
		h.Get(fmt.Sprint(i))
		h.expectHot(t, min(i+1, 4))
	}
	collect()                   // or the next reads would decode nothing
	packer.size = 5 * hotObject // larger than the limit
	h.Get("0")
	h.expectHot(t, 4)
	packer.size = 1 // counts as minHotSize, so that the number is bounded, too
	for i := range 100 {
		h.Get(fmt.Sprint(i))
	}
	if _, bytes, objects := h.PackedSize(); objects > 4*hotObject/minHotSize || bytes > 4*hotObject {
		t.Errorf("%d objects of %d bytes are kept", objects, bytes)
	}
	collect()
	packer.unpacked.Store(0)
	h.Get("0")
	packer.expectUnpacked(t, 1, "Get of an evicted object")
}

// An object that was read since it was added is evicted after those that were not.
func TestObjectsReadAgainAreEvictedLater(t *testing.T) {
	h, packer := newHotHarness(100, 4)
	for i := range 4 {
		h.Get(fmt.Sprint(i))
	}
	h.Get("0")
	for i := 4; i < 7; i++ {
		h.Get(fmt.Sprint(i))
	}
	collect()
	packer.unpacked.Store(0)
	h.Get("0")
	packer.expectUnpacked(t, 0, "Get of the object that was read twice")
	h.Get("1")
	packer.expectUnpacked(t, 1, "Get of another")
}

// Reads of bulk do not count as reads that are likely to be repeated.
func TestListedObjectsAreNotEvictedLater(t *testing.T) {
	h, packer := newHotHarness(100, 4)
	for i := range 4 {
		h.Get(fmt.Sprint(i))
	}
	h.Snapshot().Get("0")
	h.Get("4")
	collect()
	packer.unpacked.Store(0)
	h.Get("0")
	packer.expectUnpacked(t, 1, "Get of the first object")
}

// A state that was replaced or deleted is evicted before any that is in the store.
func TestReplacedStatesAreEvictedFirst(t *testing.T) {
	h, packer := newHotHarness(100, 4)
	for i := range 3 {
		h.Get(fmt.Sprint(i))
	}
	change := h.update(t, 0, 2)
	h.deliver(change)
	h.expectHot(t, 4)
	h.Get("5")
	h.expectHot(t, 4)
	collect()
	packer.unpacked.Store(0)
	for _, key := range []string{"0", "1", "2", "5"} {
		h.Get(key)
	}
	packer.expectUnpacked(t, 0, "Get of the objects in the store")
	h.deliver(change)
	packer.expectUnpacked(t, 1, "delivery of the replaced state")
	h.expectHot(t, 4)
	runtime.KeepAlive(change)
}

// A state that has left the store is kept as long as an event with it may be delivered.
func TestStatesThatLeftAreKeptForTheirEvents(t *testing.T) {
	for name, leave := range map[string]func(h *harness){
		"update":          func(h *harness) { h.apply(watch.Modified, obj("0/u0@5")) },
		"recreate":        func(h *harness) { h.apply(watch.Modified, obj("0/other@5")) },
		"delete":          func(h *harness) { h.apply(watch.Deleted, obj("0/u0@5")) },
		"put":             func(h *harness) { _ = h.Put(obj("0/u0@5")) },
		"remove":          func(h *harness) { _ = h.Remove(obj("0/u0@5")) },
		"list":            func(h *harness) { h.relist("5", obj("0/u0@5"), obj("1/u1@1")) },
		"list without it": func(h *harness) { h.relist("5", obj("1/u1@1")) },
	} {
		t.Run(name, func(t *testing.T) {
			h, packer := newHotHarness(2, 100)
			h.Get("0")
			h.Get("1")
			leave(h)
			collect()
			h.expectHot(t, 2)
			packer.unpacked.Store(0)
			for batch, ok := h.cursor.TryNext(); ok; batch, ok = h.cursor.TryNext() {
				if old := batch[0].Old; old != nil {
					h.Load("0", old, true)
				}
			}
			packer.expectUnpacked(t, 0, "delivery of the old state")
			collect()
			h.expectHot(t, 1)
		})
	}
}

// A state that is replaced by an equal one, without an event, is not kept.
func TestRepairedStateIsNotKept(t *testing.T) {
	h, _ := newHotHarness(1, 100)
	h.Get("0")
	if err := h.Replace(numbered(1), "5"); err != nil {
		t.Fatal(err)
	}
	if _, ok := h.cursor.TryNext(); ok {
		t.Error("an event for an equal state")
	}
	collect()
	h.expectHot(t, 0)
}

// The default limit follows the size of the collection.
func TestHotSetShrinksWithCollection(t *testing.T) {
	const large = hotShare * 300 * hotObject
	for name, shrink := range map[string]func(h *harness){
		"relist": func(h *harness) { h.relist("2", numbered(200)...) },
		"delete": func(h *harness) {
			h.live.Load().packedBytes.Store(0)
			h.apply(watch.Deleted, obj("250/u250@2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newHotHarness(300, 0)
			h.live.Load().packedBytes.Add(large)
			for i := range 300 {
				h.Get(fmt.Sprint(i))
			}
			if _, bytes, objects := h.PackedSize(); objects != 300 || bytes != 300*hotObject {
				t.Errorf("%d objects of %d bytes are kept, want 300", objects, bytes)
			}
			shrink(h)
			if _, bytes, objects := h.PackedSize(); bytes > minHotBytes || objects != minHotBytes/hotObject {
				t.Errorf("%d objects of %d bytes are kept after the collection has shrunk", objects, bytes)
			}
		})
	}
}

func TestReleaseHot(t *testing.T) {
	h, packer := newHotHarness(10, 4)
	change := h.update(t, 0, 2)
	h.deliver(change)
	h.Get("1")
	h.expectHot(t, 2)
	h.ReleaseHot()
	h.expectHot(t, 0)
	collect()
	packer.unpacked.Store(0)
	h.Get("1")
	collect()
	h.Get("1")
	h.deliver(change)
	packer.expectUnpacked(t, 4, "reads after the release")
	h.expectHot(t, 0)
}

// An evicted object is shared as long as a reader references it, and its handle is freed later.
func TestEvictedObjectIsReferencedWeakly(t *testing.T) {
	h, _ := newHotHarness(10, 1)
	first, _ := h.Get("0")
	h.Get("1")
	collect()
	if again, _ := h.Get("0"); again != first {
		t.Error("an evicted object was decoded again while a reader references it")
	}
	runtime.KeepAlive(first)
	waitUntilFreed(t, packedOf(h.entries.Get("0")))
}

// waitUntilFreed collects garbage until the decoded object's handle is freed.
func waitUntilFreed(t *testing.T, p *packed) {
	t.Helper()
	for range 100 { // cleanups run in a goroutine of the runtime
		if p.live.Load() == nil {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Error("an object without readers is still live")
}

// A value that the packer does not support is not decoded, so it does not count.
func TestUnpackedValuesAreNotKept(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", unpackable("a/1@1"))
	h.Get("a")
	h.apply(watch.Modified, unpackable("a/1@2"))
	h.Get("a")
	h.expectHot(t, 0)
}
