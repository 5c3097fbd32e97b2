// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/scope"
)

// Readers of a packed entry share one decoded object. It is released once no reader references it.
func TestDecodedObjectsAreReferencedWeakly(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	func() {
		first, _ := h.Get("a")
		again, _ := h.Snapshot().Get("a")
		listed := h.Snapshot().List()
		if first != again || first != listed[0] {
			t.Error("the object was decoded more than once")
		}
		runtime.KeepAlive(first)
	}()
	waitUntilFreed(t, packedOf(h.entries.Get("a")))
	if o, ok := h.Get("a"); !ok || o.Version != "1" {
		t.Errorf("Get() = %v, %v after the object was released", o, ok)
	}
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

// The value that was decoded to pack an event's object is kept for the handlers that follow, and
// released once all of them have read the change.
func TestDecodedEventIsKeptForHandlers(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	h.cursor.TryNext()
	h.apply(watch.Modified, obj("a/1@2"))
	stored := packedOf(h.entries.Get("a"))
	runtime.GC()
	runtime.GC()
	if stored.live.Load() == nil {
		t.Error("the decoded object was released before the handler has read it")
	}
	h.cursor.TryNext()
	waitUntilFreed(t, stored)
}

// A handler that is far behind keeps few decoded values alive.
func TestBlockedHandlerKeepsFewDecodedValues(t *testing.T) {
	h := newHarness(packing)
	h.apply(watch.Added, obj("first/1@1"))
	first := packedOf(h.entries.Get("first"))
	for i := range maxRecent {
		if i == maxRecent-1 {
			runtime.GC()
			runtime.GC()
			if first.live.Load() == nil {
				t.Error("the first value was released early")
			}
		}
		h.apply(watch.Modified, obj("other/1@"+strconv.Itoa(i+2)))
	}
	waitUntilFreed(t, first)
	if changes, ok := h.cursor.TryNext(); !ok || changes[0].Key != "first" {
		t.Error("the handler has lost a change")
	}
}

// A value that the program writes is not handed to readers: the program may modify it.
func TestWrittenValueIsNotShared(t *testing.T) {
	h := newHarness(packing)
	written := obj("a/1@1")
	if err := h.Put(written); err != nil {
		t.Fatal(err)
	}
	if read, _ := h.Get("a"); read == written {
		t.Error("the store has the program's own object")
	}
	runtime.KeepAlive(written)
}

func TestConcurrentReadersShareOneDecodedObject(t *testing.T) {
	for range shareRounds {
		packer := &rendezvousPacker{jsonPacker: jsonPacker{pack.New()}}
		h := newHarness(func(c *Config) { c.Packer = packer })
		h.relist("1", obj("a/1@1"))
		var group sync.WaitGroup
		got := make([]*object, 8)
		packer.decoding.Add(len(got))
		for i := range got {
			group.Go(func() { got[i], _ = h.Get("a") })
		}
		group.Wait()
		for _, o := range got {
			if o != got[0] {
				t.Fatalf("readers got %p and %p", got[0], o)
			}
		}
	}
}

// rendezvousPacker is a jsonPacker that decodes for all readers at the same time.
type rendezvousPacker struct {
	jsonPacker
	decoding sync.WaitGroup // done by each reader that decodes
}

func (p *rendezvousPacker) Unpack(packed pack.Object) (any, error) {
	p.decoding.Done()
	p.decoding.Wait()
	return p.jsonPacker.Unpack(packed)
}

// A state is packed relative to the one that it replaces, and decodes to the same object.
func TestUpdatesOfPackedEntries(t *testing.T) {
	h := newHarness(packing)
	for i := range 50 {
		o := obj(fmt.Sprintf("a/1@%d", i+1), "g")
		o.Text = fmt.Sprint("text ", i)
		h.apply(watch.Modified, o)
		snapshot := h.Snapshot()
		value, ok := snapshot.Get("a")
		got, _ := value.(*object)
		if !ok || got.Text != o.Text || got.Version != o.Version || !slices.Equal(got.Groups, o.Groups) {
			t.Fatalf("got %v, %v, want %v", got, ok, o)
		}
	}
}

// Both states of an update are decoded together unless one is live. Load returns them while they
// are referenced. A state that cannot be decoded is left to Load, which reports it.
func TestStatesOfAnUpdateAreDecodedTogether(t *testing.T) {
	packer := &updatePacker{jsonPacker: jsonPacker{pack.New()}}
	h := newHarness(func(c *Config) { c.Packer = packer })
	h.relist("1", obj("a/1@1"))
	h.cursor.TryNext()
	h.relist("2", obj("a/1@2"))
	changes, _ := h.cursor.TryNext()
	before, after := changes[0].Old, changes[0].New
	waitUntilFreed(t, packedOf(before.ref))
	waitUntilFreed(t, packedOf(after.ref))
	states := h.DecodeUpdate(before, after)
	old, _ := h.Load("a", before)
	updated, _ := h.Load("a", after)
	if old != states[0] || updated != states[1] || old.(*object).Version != "1" || updated.(*object).Version != "2" || packer.updates != 1 {
		t.Errorf("Load() = %v and %v after %v, %d times decoded", old, updated, states, packer.updates)
	}
	if again := h.DecodeUpdate(before, after); again != [2]any{} || packer.updates != 1 {
		t.Errorf("live states were decoded again: %v", again)
	}
	runtime.KeepAlive(states)
	waitUntilFreed(t, packedOf(before.ref))
	waitUntilFreed(t, packedOf(after.ref))
	for _, entry := range []*Entry{before, after} {
		live, _ := h.Load("a", entry)
		if states := h.DecodeUpdate(before, after); states != [2]any{} || packer.updates != 1 {
			t.Errorf("both states were decoded although %v is live", live)
		}
		runtime.KeepAlive(live)
		waitUntilFreed(t, packedOf(entry.ref))
	}
	packer.broken = true
	if states := h.DecodeUpdate(before, after); states != [2]any{} || packer.updates != 2 {
		t.Errorf("got %v of states that cannot be decoded", states)
	}
}

// updatePacker decodes both states of an update, or fails to if it is broken.
type updatePacker struct {
	jsonPacker
	broken  bool
	updates int
}

func (p *updatePacker) UnpackUpdate(old, updated pack.Object) (states [2]any, err error) {
	p.updates++
	if states[0], err = p.Unpack(old); err == nil {
		states[1], err = p.Unpack(updated)
	}
	if p.broken {
		err = errInjected
	}
	return states, err
}

// An index with an item indexer does not decode the item. Other indexes call their function.
func TestItemIndexersSaveDecoding(t *testing.T) {
	calls := 0
	itemIndexers := func(c *Config) {
		c.Packer = rawPacker{pack.New()}
		c.Indexers = map[string]IndexFunc{"key": func(o any) ([]string, error) {
			calls++
			return []string{o.(*object).Key}, nil
		}}
		c.ItemIndexers = map[string]func(feed.Item) ([]string, error){"key": func(item feed.Item) ([]string, error) { return []string{item.Key}, nil }}
	}
	h := newHarness(itemIndexers)
	h.relist("1", obj("a/1@1", "g"), obj("b/1@1", "g"))
	h.apply(watch.Modified, obj("a/1@2", "g"))
	if calls != 0 || h.decodes.Load() != 0 {
		t.Errorf("%d decodes, %d calls of the index function", h.decodes.Load(), calls)
	}
	h.expectFound(t, "key", "a", "a")
	if err := h.AddIndexers(map[string]IndexFunc{"group": groupsOf}); err != nil {
		t.Fatal(err)
	}
	h.apply(watch.Modified, obj("b/1@3", "h"))
	h.expectFound(t, "group", "h", "b")
	h.expectFound(t, "key", "b", "b")
	if h.decodes.Load() != 1 || calls != 0 {
		t.Errorf("%d decodes, %d calls of the index function", h.decodes.Load(), calls)
	}
}

// The key of an item is a part of a longer string, with UID and resourceVersion. A store that packs
// keeps a copy of the key alone, one for each entry: that of a new state is not kept.
func TestPackedKeysKeepNothingElseAlive(t *testing.T) {
	for name, options := range map[string][]func(*Config){"whole": {packing}, "scoped": {packing, scoped}} {
		h := newHarness(options...)
		if name == "scoped" {
			h.Feed = h.NewFeed(FeedConfig{Scopes: []*Scope{h.AddScope(scope.Scope{})}})
		}
		var received []*byte
		item := func(text, group string) feed.Item {
			item := obj(text, group).item()
			longer := item.Key + item.UID + item.ResourceVersion
			item.Key = longer[:len(item.Key)]
			received = append(received, unsafe.StringData(longer))
			return item
		}
		kept := func() map[string]*byte {
			keys := map[string]*byte{}
			for key := range h.entries.All() {
				keys[key] = unsafe.StringData(key)
			}
			for _, sets := range append(h.live.Load().indexes.values, h.live.Load().indexes.scopes) {
				if sets == nil {
					continue
				}
				for _, set := range sets.All() {
					for key := range set.Value.All() {
						if keys[key] != unsafe.StringData(key) {
							t.Errorf("%s: an index has its own string of %q", name, key)
						}
					}
				}
			}
			return keys
		}
		relist := func(version string, items ...feed.Item) {
			r := h.Feed.Begin()
			for _, item := range items {
				_, item.Known = r.Needs(item)
				r.Add(item)
			}
			if err := r.Commit(version); err != nil {
				t.Fatal(err)
			}
		}
		relist("2", item("a/1@1", "x"), item("b/1@1", "x"))
		h.Feed.Apply(watch.Added, item("c/1@3", "x"))
		before := kept()
		relist("5", item("a/1@1", "x"), item("b/1@4", "y"), item("c/1@3", "x"))
		h.Feed.Apply(watch.Modified, item("c/1@6", "y"))
		after := kept()
		if len(before) != 3 || !maps.Equal(before, after) {
			t.Errorf("%s: the keys are %v, want %v as before", name, after, before)
		}
		for key, data := range after {
			if slices.Contains(received, data) {
				t.Errorf("%s: the key %q is that of an item", name, key)
			}
		}
	}
}

// The index values of a transformed object may differ from those of its item.
func TestTransformsMakesIndexersReadTheObject(t *testing.T) {
	h := newHarness(packing, transforming, func(c *Config) {
		c.ItemIndexers = map[string]func(feed.Item) ([]string, error){"group": func(feed.Item) ([]string, error) { return []string{"item"}, nil }}
	})
	h.apply(watch.Added, obj("a/1@1", "object"))
	h.expectFound(t, "group", "object", "a")
	h.expectFound(t, "group", "item")
}

// rawPacker packs the bytes of an item as received.
type rawPacker struct{ *pack.Packer }

func (p rawPacker) Pack(item feed.Item, old pack.Object, _ func() (any, error)) (pack.Object, error) {
	return p.Packer.Pack(item.Raw, "", old, pack.Excerpt{}), nil
}

func (p rawPacker) Unpack(packed pack.Object) (any, error) {
	return jsonPacker(p).Unpack(packed)
}

// Select returns the matching values, whether it reads the labels from the value or from the bytes.
func TestSelect(t *testing.T) {
	labels := func(c *Config) {
		c.Labels = func(o any) map[string]string { return map[string]string{"text": o.(*object).Text} }
	}
	packer := &labelPacker{rawPacker: rawPacker{pack.New()}}
	for name, options := range map[string][]func(*Config){
		"live":                          {labels},
		"packed":                        {labels, packing},
		"packed, with labels in bytes":  {labels, func(c *Config) { c.Packer = packer }},
		"packed, with unreadable bytes": {labels, func(c *Config) { c.Packer = &labelPacker{rawPacker: rawPacker{pack.New()}, broken: true} }},
	} {
		h := newHarness(options...)
		var list []*object
		for i := range 10 {
			o := obj(fmt.Sprintf("%d/1@1", i), "g"+strconv.Itoa(i%2))
			o.Text = strconv.Itoa(i % 5)
			list = append(list, o)
		}
		h.relist("1", list...)
		is := func(text string) func(map[string]string) bool {
			return func(labels map[string]string) bool { return labels["text"] == text }
		}
		var selected, indexed, none valueSlice
		h.Snapshot().Select(is("3"), &selected)
		if got := objects(selected); len(got) != 2 || got[0].Text != "3" || got[1].Text != "3" {
			t.Errorf("%s: Select() = %v, want two objects", name, got)
		}
		err := h.Snapshot().SelectByIndex("group", "g1", is("3"), &indexed)
		if got := objects(indexed); err != nil || len(got) != 1 || got[0].Key != "3" {
			t.Errorf("%s: SelectByIndex() = %v, %v, want 3", name, got, err)
		}
		if err := h.Snapshot().SelectByIndex("none", "", nil, &none); err == nil {
			t.Errorf("%s: no error for a missing index", name)
		}
	}
	if packer.unpacked > 4 { // live objects are not unpacked again
		t.Errorf("%d of 10 objects were unpacked, 3 match", packer.unpacked)
	}
}

// Labels of a group are read once for each Select. An object that is relabelled leaves its group;
// a snapshot from before still finds it by its former labels.
func TestSelectReadsTheLabelsOfAGroupOnce(t *testing.T) {
	const owners, replicas = 5, 20
	packer := &labelPacker{rawPacker: rawPacker{pack.New()}, owned: true}
	h := newHarness(func(c *Config) {
		c.Labels = func(o any) map[string]string { return map[string]string{"text": o.(*object).Text} }
		c.Packer = packer
	})
	labelled := func(key, version, text string) *object {
		o := obj(key+"/1@"+version, "g")
		o.Text = text
		return o
	}
	var list []*object
	for i := range owners * replicas {
		list = append(list, labelled(fmt.Sprintf("%d-%d", i%owners, i/owners), "1", fmt.Sprintf("the labels of owner %d", i%owners)))
	}
	h.relist("1", list...)
	count := func(snapshot *Snapshot, text string) int {
		packer.read = 0
		var selected valueSlice
		snapshot.Select(func(labels map[string]string) bool { return labels["text"] == text }, &selected)
		return len(selected)
	}
	before := h.Snapshot()
	if n := count(before, "the labels of nobody"); n != 0 || packer.read > owners {
		t.Errorf("%d objects found, labels read %d times, want up to %d", n, packer.read, owners)
	}
	h.apply(watch.Modified, labelled("3-7", "2", "the labels of owner 4"))
	for _, test := range []struct {
		snapshot     *Snapshot
		three, other int
	}{{before, replicas, replicas}, {h.Snapshot(), replicas - 1, replicas + 1}} {
		if three, other := count(test.snapshot, "the labels of owner 3"), count(test.snapshot, "the labels of owner 4"); three != test.three || other != test.other {
			t.Errorf("%d and %d objects found, want %d and %d", three, other, test.three, test.other)
		}
	}
}

// labelPacker can read labels, or fails to if it is broken.
type labelPacker struct {
	rawPacker
	broken   bool
	owned    bool // the first letter of a key is the owner, and the text the excerpt
	unpacked int
	read     int // number of times that labels were read
}

func (p *labelPacker) Pack(item feed.Item, old pack.Object, value func() (any, error)) (pack.Object, error) {
	if !p.owned {
		return p.rawPacker.Pack(item, old, value)
	}
	v, err := value()
	if err != nil {
		return pack.Object{}, err
	}
	start := bytes.Index(item.Raw, []byte(v.(*object).Text))
	excerpt := pack.Excerpt{Start: start, End: start + len(v.(*object).Text), Known: true}
	return p.Packer.Pack(item.Raw, item.Key[:1], old, excerpt), nil
}

func (p *labelPacker) Unpack(packed pack.Object) (any, error) {
	p.unpacked++
	return p.rawPacker.Unpack(packed)
}

func (p *labelPacker) Labels(packed pack.Object) (map[string]string, error) {
	p.read++
	if p.broken {
		return nil, errors.New("broken")
	}
	if p.owned {
		excerpt, _, err := packed.AppendExcerpt(nil)
		return map[string]string{"text": string(excerpt)}, err
	}
	o, err := p.rawPacker.Unpack(packed)
	return map[string]string{"text": o.(*object).Text}, err
}
