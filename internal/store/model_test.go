// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/random"
)

// machine applies each operation to a store and to a model of it, and compares them after each
// step.
type machine struct {
	*harness
	model    *modelStore
	next     feed.Replacement
	replayed map[string]*Entry // the state rebuilt from the log alone
	kept     []keptSnapshot
}

// keptSnapshot is a snapshot and the state of the model when it was taken.
type keptSnapshot struct {
	*Snapshot
	version string
	live    map[string]*modelEntry
	names   []string // of the indexes
}

// TestStoreMatchesModel runs random sequences of all operations on few keys, with objects for which
// any function of the Config may fail.
func TestStoreMatchesModel(t *testing.T) {
	random.Check(t, modelRounds, func(t *random.T) {
		m := &machine{replayed: map[string]*Entry{}}
		m.model = newModelStore(t.Bool("item keys"), t.Bool("packed"))
		m.model.emitUnstored = t.Bool("unstored deletions")
		m.harness = newHarness(func(c *Config) {
			c.EmitUnstoredDeletions = m.model.emitUnstored
			if c.ItemKeys = m.model.itemKeys; m.model.packed {
				c.Packer = jsonPacker{pack.New()}
			}
		})
		t.Repeat(map[string]func(*random.T){
			"apply":        m.doApply,
			"apply again":  m.doApply, // the most frequent operation
			"begin":        m.doBegin,
			"add":          m.doAdd,
			"remove":       m.doRemove,
			"commit":       m.doCommit,
			"put":          m.doPut,
			"remove value": m.doRemoveKey,
			"replace":      m.doReplace,
			"clear":        m.doClear,
			"advance":      m.doAdvanceVersion,
			"add indexers": m.doAddIndexers,
			"corrupt":      m.doCorrupt,
			"get":          m.doGet,
			"load":         m.doLoad,
			"snapshot":     m.doSnapshot,
			"":             m.check,
		})
		m.doSnapshot(t)
		for _, kept := range m.kept {
			m.compare(t, kept)
		}
	})
}

func aVersion(t *random.T) string {
	if t.Range("kind of version", 0, 1) == 0 {
		return fmt.Sprint(t.Range("version", 1, 30))
	}
	return random.From(t, "version", "", "", "not a number")
}

func aKey(t *random.T) string { return random.From(t, "key", "a", "b", "ns/c", "ns/d") }

func aFault(t *random.T) string {
	return random.From(t, "fault",
		"", "", "", "", "", "", "index", "index panic", "decode", "decode panic", "key", "key panic", "pack", "pack panic")
}

// anObject returns an object with contents determined by its UID and version, as on a server that
// does not go back in time. Without a UID or version they are random.
func anObject(t *random.T) *object {
	o := &object{Key: aKey(t), UID: random.From(t, "uid", "1", "1", "1", "2", ""), Version: aVersion(t), Fault: aFault(t)}
	if o.UID != "" { // no other key has the same
		o.UID = o.Key + o.UID
	}
	salt := len(o.Version) + 3*len(o.UID)
	for _, c := range o.Version {
		salt += int(c)
	}
	if o.UID == "" || o.Version == "" {
		salt = t.Range("salt", 0, 9)
	}
	o.Text = fmt.Sprint("text ", salt, random.From(t, "epoch", "", "", "", " in another epoch"))
	for i := range salt % 3 {
		o.Groups = append(o.Groups, fmt.Sprint("group ", (salt+i)%4), "group 0")
	}
	return o
}

func (m *machine) doApply(t *random.T) {
	event := random.From(t, "event", watch.Added, watch.Modified, watch.Deleted)
	o := anObject(t)
	if m.model.cleared {
		if got := m.apply(event, o); got != feed.Outdated {
			t.Fatalf("Apply(%s %v) = %v after Clear", event, o, got)
		}
		m.replayLog(t, false, false)
		return
	}
	before := len(m.model.live)
	want := m.model.apply(event, o)
	recreated := len(m.model.live) < before // of an object that cannot be stored: the one before is deleted
	if got := m.apply(event, o); got != want {
		t.Fatalf("Apply(%s %v) = %v, want %v", event, o, got, want)
	}
	m.replayLog(t, want == feed.Applied || recreated || m.model.unstored != nil, false)
	if m.model.unstored != nil {
		t.Fatalf("no deletion of %v, which was never stored", o)
	}
}

func (m *machine) doBegin(t *random.T) {
	compareContents := t.Bool("compare contents")
	m.model.begin(compareContents)
	if m.next = m.Begin(); compareContents {
		m.next.CompareContents(true)
	}
}

func (m *machine) doAdd(t *random.T) {
	if m.next == nil {
		t.Skip("no replacement begun")
	}
	o := anObject(t)
	m.model.add(o)
	item, add := o.item(), m.next.Add
	if t.Bool("ask") {
		var need feed.Need
		if need, item.Known = m.next.Needs(item); need == feed.NeedsIdentity {
			item.Raw = nil
		}
	}
	if t.Bool("update") {
		add = m.next.Update
	}
	add(item)
}

func (m *machine) doRemove(t *random.T) {
	if m.next == nil {
		t.Skip("no replacement begun")
	}
	o := anObject(t)
	m.model.drop(o)
	m.next.Remove(o.item())
}

func (m *machine) doCommit(t *random.T) {
	if m.next == nil {
		t.Skip("no replacement begun")
	}
	version := aVersion(t)
	mayRepeat := m.model.next.compareContents
	if m.model.next.cleared {
		if err := m.next.Commit(version); !errors.Is(err, feed.ErrOutdated) {
			t.Fatalf("Commit = %v after Clear", err)
		}
		m.next, m.model.next = nil, nil
		m.replayLog(t, false, false)
		return
	}
	m.model.commit(version)
	m.model.cleared = false
	if err := m.next.Commit(version); err != nil {
		t.Fatal(err)
	}
	m.next = nil
	m.replayLog(t, true, mayRepeat)
}

func (m *machine) doPut(t *random.T) {
	o := anObject(t)
	bad := isFault(o, "key") || m.model.packed && isFault(o, "pack")
	if !bad {
		m.model.live[o.Key] = m.model.entry(o)
	}
	if err := m.Put(o); (err != nil) != bad {
		t.Fatalf("Put(%v) = %v", o, err)
	}
	m.replayLog(t, !bad, true)
}

func (m *machine) doRemoveKey(t *random.T) {
	o := anObject(t)
	if !isFault(o, "key") && m.model.live[o.Key] != nil {
		delete(m.model.live, o.Key)
	}
	if err := m.Remove(o); (err != nil) != isFault(o, "key") {
		t.Fatalf("Remove(%v) = %v", o, err)
	}
	m.replayLog(t, true, false)
}

func (m *machine) doReplace(t *random.T) {
	objects := make([]*object, t.Length("objects", 3, 5))
	for i := range objects {
		objects[i] = anObject(t)
	}
	version := aVersion(t)
	want := m.model.replace(objects)
	if err := m.Replace(values(objects), version); (err == nil) != want {
		t.Fatalf("Replace(%v) = %v", objects, err)
	}
	m.replayLog(t, want, false)
}

func (m *machine) doClear(t *random.T) {
	m.model.clear()
	m.Clear(t.Context(), nil, true)
	m.replayLog(t, true, false)
}

func (m *machine) doAdvanceVersion(t *random.T) {
	version := aVersion(t)
	if !m.model.cleared { // otherwise it must be listed first
		m.model.advanceVersion(version)
	}
	m.AdvanceVersion(version)
}

var moreIndexers = map[string]IndexFunc{
	"uid":  keyAndUID,
	"text": func(o any) ([]string, error) { return []string{o.(*object).Text}, o.(*object).fails("index") },
	"none": func(any) ([]string, error) { return nil, nil },
}

func (m *machine) doAddIndexers(t *random.T) {
	name := random.From(t, "name", "uid", "text", "none", "group")
	_, taken := m.model.indexers[name]
	if !taken {
		m.model.indexers[name] = moreIndexers[name]
		m.model.reindex(m.model.live)
	}
	if err := m.AddIndexers(map[string]IndexFunc{name: moreIndexers[name]}); (err != nil) != taken {
		t.Fatalf("AddIndexers(%s) = %v", name, err)
	}
}

func (m *machine) doCorrupt(t *random.T) {
	key := aKey(t)
	if !m.model.packed || m.model.live[key] == nil {
		t.Skip("nothing to corrupt")
	}
	*m.model.live[key].bad = true
	m.corrupt(key, m.next)
}

func (m *machine) doGet(t *random.T) {
	key := aKey(t)
	var want *object
	if e := m.model.live[key]; e != nil {
		want, _ = m.model.read(key, e)
	}
	if got, ok := m.Get(key); ok != (want != nil) || ok && !sameObjects(got, want) {
		t.Fatalf("Get(%q) = %v, %v, want %v", key, got, ok, want)
	}
}

// doLoad loads an entry as for an event, which may be about a state that has left the store.
func (m *machine) doLoad(t *random.T) {
	if len(m.kept) == 0 {
		t.Skip("no snapshot")
	}
	kept, key := m.kept[t.Range("snapshot", 0, len(m.kept)-1)], aKey(t)
	e := kept.live[key]
	if e == nil {
		t.Skip("no entry")
	}
	want, readable := m.model.read(key, e)
	if got, ok := m.Load(key, kept.Entry(key)); ok != readable || ok && !sameObjects(got, want) {
		t.Fatalf("Load(%q) = %v, %v, want %v", key, got, ok, want)
	}
}

func (m *machine) doSnapshot(t *random.T) {
	kept := keptSnapshot{m.Snapshot(), m.model.version, maps.Clone(m.model.live), slices.Sorted(maps.Keys(m.model.indexers))}
	m.compare(t, kept)
	m.kept = append(m.kept, kept)
}
