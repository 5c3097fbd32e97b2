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
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
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
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{replayed: map[string]*Entry{}}
		m.model = newModelStore(rapid.Bool().Draw(t, "item keys"), rapid.Bool().Draw(t, "packed"))
		m.model.emitUnseen = rapid.Bool().Draw(t, "unseen deletions")
		m.harness = newHarness(func(c *Config) {
			c.EmitUnseenDeletions = m.model.emitUnseen
			if c.ItemKeys = m.model.itemKeys; m.model.packed {
				c.Packer = jsonPacker{pack.New()}
			}
		})
		t.Repeat(map[string]func(*rapid.T){
			"apply":        m.doApply,
			"apply again":  m.doApply, // the most frequent operation
			"begin":        m.doBegin,
			"add":          m.doAdd,
			"remove":       m.doRemove,
			"commit":       m.doCommit,
			"put":          m.doPut,
			"remove value": m.doRemoveKey,
			"replace":      m.doReplace,
			"vacate":       m.doVacate,
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

var (
	aVersion = rapid.OneOf(rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprint(rapid.IntRange(1, 30).Draw(t, "version"))
	}), rapid.SampledFrom([]string{"", "", "not a number"}))
	aKey   = rapid.SampledFrom([]string{"a", "b", "ns/c", "ns/d"})
	aFault = rapid.SampledFrom([]string{
		"", "", "", "", "", "", "index", "index panic", "decode", "decode panic", "key", "key panic", "pack", "pack panic",
	})
	// anObject has contents determined by its UID and version, as on a server that does not go back
	// in time. Without a UID or version they are random.
	anObject = rapid.Custom(func(t *rapid.T) *object {
		o := &object{
			Key: aKey.Draw(t, "key"), UID: rapid.SampledFrom([]string{"1", "1", "1", "2", ""}).Draw(t, "uid"),
			Version: aVersion.Draw(t, "version"), Fault: aFault.Draw(t, "fault"),
		}
		if o.UID != "" { // no other key has the same
			o.UID = o.Key + o.UID
		}
		salt := len(o.Version) + 3*len(o.UID)
		for _, c := range o.Version {
			salt += int(c)
		}
		if o.UID == "" || o.Version == "" {
			salt = rapid.IntRange(0, 9).Draw(t, "salt")
		}
		o.Text = fmt.Sprint("text ", salt, rapid.SampledFrom([]string{"", "", "", " in another epoch"}).Draw(t, "epoch"))
		for i := range salt % 3 {
			o.Groups = append(o.Groups, fmt.Sprint("group ", (salt+i)%4), "group 0")
		}
		return o
	})
)

func (m *machine) doApply(t *rapid.T) {
	event := rapid.SampledFrom([]watch.EventType{watch.Added, watch.Modified, watch.Deleted}).Draw(t, "event")
	o := anObject.Draw(t, "object")
	if m.model.vacated {
		if got := m.apply(event, o); got != feed.Outdated {
			t.Fatalf("Apply(%s %v) = %v after Vacate", event, o, got)
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
	m.replayLog(t, want == feed.Applied || recreated || m.model.unseen != nil, false)
	if m.model.unseen != nil {
		t.Fatalf("no deletion of %v, which was never stored", o)
	}
}

func (m *machine) doBegin(t *rapid.T) {
	compareContents := rapid.Bool().Draw(t, "compare contents")
	m.model.begin(compareContents)
	if m.next = m.Begin(); compareContents {
		m.next.CompareContents()
	}
}

func (m *machine) doAdd(t *rapid.T) {
	if m.next == nil {
		t.Skip("no replacement begun")
	}
	o := anObject.Draw(t, "object")
	m.model.add(o)
	item, add := o.item(), m.next.Add
	if rapid.Bool().Draw(t, "ask") {
		var need feed.Need
		if need, item.Known = m.next.Needs(item); need == feed.NeedsIdentity {
			item.Raw = nil
		}
	}
	if rapid.Bool().Draw(t, "update") {
		add = m.next.Update
	}
	add(item)
}

func (m *machine) doRemove(t *rapid.T) {
	if m.next == nil {
		t.Skip("no replacement begun")
	}
	o := anObject.Draw(t, "object")
	m.model.drop(o)
	m.next.Remove(o.item())
}

func (m *machine) doCommit(t *rapid.T) {
	if m.next == nil {
		t.Skip("no replacement begun")
	}
	version := aVersion.Draw(t, "version")
	mayRepeat := m.model.next.compareContents
	if m.model.next.vacated {
		if err := m.next.Commit(version); !errors.Is(err, feed.ErrOutdated) {
			t.Fatalf("Commit = %v after Vacate", err)
		}
		m.next, m.model.next = nil, nil
		m.replayLog(t, false, false)
		return
	}
	m.model.commit(version)
	m.model.vacated = false
	if err := m.next.Commit(version); err != nil {
		t.Fatal(err)
	}
	m.next = nil
	m.replayLog(t, true, mayRepeat)
}

func (m *machine) doPut(t *rapid.T) {
	o := anObject.Draw(t, "object")
	bad := isFault(o, "key") || m.model.packed && isFault(o, "pack")
	if !bad {
		m.model.live[o.Key] = m.model.entry(o)
	}
	if err := m.Put(o); (err != nil) != bad {
		t.Fatalf("Put(%v) = %v", o, err)
	}
	m.replayLog(t, !bad, true)
}

func (m *machine) doRemoveKey(t *rapid.T) {
	o := anObject.Draw(t, "object")
	if !isFault(o, "key") && m.model.live[o.Key] != nil {
		delete(m.model.live, o.Key)
	}
	if err := m.Remove(o); (err != nil) != isFault(o, "key") {
		t.Fatalf("Remove(%v) = %v", o, err)
	}
	m.replayLog(t, true, false)
}

func (m *machine) doReplace(t *rapid.T) {
	objects := rapid.SliceOfN(anObject, 0, 5).Draw(t, "objects")
	version := aVersion.Draw(t, "version")
	want := m.model.replace(objects)
	if err := m.Replace(values(objects), version); (err == nil) != want {
		t.Fatalf("Replace(%v) = %v", objects, err)
	}
	m.replayLog(t, want, false)
}

func (m *machine) doVacate(t *rapid.T) {
	m.model.vacate()
	m.Vacate(t.Context(), nil, true)
	m.replayLog(t, true, false)
}

func (m *machine) doAdvanceVersion(t *rapid.T) {
	version := aVersion.Draw(t, "version")
	if !m.model.vacated { // otherwise it must be listed first
		m.model.advanceVersion(version)
	}
	m.AdvanceVersion(version)
}

var moreIndexers = map[string]IndexFunc{
	"uid":  keyAndUID,
	"text": func(o any) ([]string, error) { return []string{o.(*object).Text}, o.(*object).fails("index") },
	"none": func(any) ([]string, error) { return nil, nil },
}

func (m *machine) doAddIndexers(t *rapid.T) {
	name := rapid.SampledFrom([]string{"uid", "text", "none", "group"}).Draw(t, "name")
	_, taken := m.model.indexers[name]
	if !taken {
		m.model.indexers[name] = moreIndexers[name]
		m.model.reindex(m.model.live)
	}
	if err := m.AddIndexers(map[string]IndexFunc{name: moreIndexers[name]}); (err != nil) != taken {
		t.Fatalf("AddIndexers(%s) = %v", name, err)
	}
}

func (m *machine) doCorrupt(t *rapid.T) {
	key := aKey.Draw(t, "key")
	if !m.model.packed || m.model.live[key] == nil {
		t.Skip("nothing to corrupt")
	}
	*m.model.live[key].bad = true
	m.corrupt(key, m.next)
}

func (m *machine) doGet(t *rapid.T) {
	key := aKey.Draw(t, "key")
	var want *object
	if e := m.model.live[key]; e != nil {
		want, _ = m.model.read(key, e)
	}
	if got, ok := m.Get(key); ok != (want != nil) || ok && !sameObjects(got, want) {
		t.Fatalf("Get(%q) = %v, %v, want %v", key, got, ok, want)
	}
}

// doLoad loads an entry as for an event, which may be about a state that has left the store.
func (m *machine) doLoad(t *rapid.T) {
	if len(m.kept) == 0 {
		t.Skip("no snapshot")
	}
	kept, key := rapid.SampledFrom(m.kept).Draw(t, "snapshot"), aKey.Draw(t, "key")
	e := kept.live[key]
	if e == nil {
		t.Skip("no entry")
	}
	want, readable := m.model.read(key, e)
	if got, ok := m.Load(key, kept.Entry(key)); ok != readable || ok && !sameObjects(got, want) {
		t.Fatalf("Load(%q) = %v, %v, want %v", key, got, ok, want)
	}
}

func (m *machine) doSnapshot(t *rapid.T) {
	kept := keptSnapshot{m.Snapshot(), m.model.version, maps.Clone(m.model.live), slices.Sorted(maps.Keys(m.model.indexers))}
	m.compare(t, kept)
	m.kept = append(m.kept, kept)
}
