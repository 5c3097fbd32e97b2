package store

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// naive is what a store is to be, in maps: no pages, no sharing, no locks.
type modelStore struct {
	itemKeys, packed bool

	live       map[string]*modelEntry
	version    string
	quarantine map[string]string // the version that failed, "" for what cannot be read
	indexers   map[string]IndexFunc[*object]

	next *draft // a replacement in the making
}

// known is an entry: an object, whether its bytes went bad, and its values under
// the indexes that there were when it was indexed.
type modelEntry struct {
	object *object
	bad    *bool // shared by entries of the same bytes
	values map[string][]string
}

type draft struct {
	entries         map[string]*modelEntry
	rejected        map[string]string
	recovered       map[string]bool
	compareContents bool
}

func newModelStore(itemKeys, packed bool) *modelStore {
	return &modelStore{
		itemKeys: itemKeys, packed: packed, live: map[string]*modelEntry{}, quarantine: map[string]string{},
		indexers: map[string]IndexFunc[*object]{"group": groupsOf},
	}
}

func isFault(o *object, at ...string) bool {
	return slices.Contains(at, strings.TrimSuffix(o.Fault, " panic"))
}

// before compares versions as numbers; what is no number is not comparable.
func before(a, b string) bool {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	return errA == nil && errB == nil && x < y
}

func (n *modelStore) advanceVersion(version string) {
	if version != "" && !before(version, n.version) {
		n.version = version
	}
}

func (n *modelStore) entry(o *object) *modelEntry {
	e := &modelEntry{object: o, bad: new(bool)}
	return n.index(e)
}

// index returns an entry with values under all indexes.
func (n *modelStore) index(e *modelEntry) *modelEntry {
	values := maps.Clone(e.values)
	if values == nil {
		values = map[string][]string{}
	}
	for name, f := range n.indexers {
		if _, ok := values[name]; !ok {
			found, err := guard(func() ([]string, error) { return f(e.object) })
			if err != nil {
				found = nil
			}
			found = slices.Clone(found)
			slices.Sort(found)
			values[name] = slices.Compact(found)
		}
	}
	return &modelEntry{object: e.object, bad: e.bad, values: values}
}

// read is what a reader does to an entry: if its bytes are the live one's and cannot
// be read, its key is quarantined.
func (n *modelStore) read(key string, e *modelEntry) (*object, bool) {
	if !*e.bad {
		return e.object, true
	}
	if live := n.live[key]; live != nil && live.bad == e.bad {
		n.mark(key, "")
	}
	return nil, false
}

func (n *modelStore) mark(key, version string) {
	if _, quarantined := n.quarantine[key]; !quarantined || version != "" {
		n.quarantine[key] = version
	}
}

// news tells what an object is to the live state: Unchanged, Stale or Applied.
func (n *modelStore) classify(o *object) feed.Outcome {
	old := n.live[o.Key]
	if old == nil {
		return feed.Applied
	}
	if sameVersion(old.object, o) {
		if failed, quarantined := n.quarantine[o.Key]; !quarantined || before(o.Version, failed) {
			return feed.Unchanged
		}
		return feed.Applied
	}
	newest := n.quarantine[o.Key]
	if newest == "" {
		newest = old.object.Version
	}
	if before(o.Version, newest) {
		return feed.Stale
	}
	return feed.Applied
}

func sameVersion(a, b *object) bool {
	return a.UID != "" && a.Version != "" && a.UID == b.UID && a.Version == b.Version
}

// unknowable tells whether not even the key can be told, unstorable whether the
// object cannot be stored.
func (n *modelStore) unknowable(o *object) bool { return !n.itemKeys && isFault(o, "decode", "key") }

func (n *modelStore) unstorable(o *object) bool {
	return n.unknowable(o) || isFault(o, "decode") || n.packed && isFault(o, "pack")
}

func (n *modelStore) apply(event watch.EventType, o *object) feed.Outcome {
	defer n.advanceVersion(o.Version)
	outcome := n.classify(o)
	switch {
	case outcome == feed.Stale, outcome == feed.Unchanged && event != watch.Deleted:
		return outcome
	case event == watch.Deleted && !n.unknowable(o):
		delete(n.quarantine, o.Key)
		if n.live[o.Key] == nil {
			return feed.Unchanged
		}
		n.set(o.Key, nil)
		return feed.Applied
	case n.unstorable(o):
		n.mark(o.Key, o.Version)
		return feed.Quarantined
	}
	n.set(o.Key, n.entry(o))
	return feed.Applied
}

func (n *modelStore) set(key string, e *modelEntry) {
	delete(n.quarantine, key)
	if e == nil {
		delete(n.live, key)
		return
	}
	n.live[key] = e
}

func (n *modelStore) begin(distrust bool) {
	n.next = &draft{map[string]*modelEntry{}, map[string]string{}, map[string]bool{}, distrust}
}

func (n *modelStore) add(o *object) {
	e := n.live[o.Key]
	if n.classify(o) != feed.Unchanged || n.next.compareContents {
		if n.unstorable(o) {
			n.next.rejected[o.Key] = o.Version
			return
		}
		if n.classify(o) != feed.Unchanged || *e.bad || !reflect.DeepEqual(e.object, o) {
			e = n.entry(o)
		}
	}
	delete(n.next.rejected, o.Key)
	if _, quarantined := n.quarantine[o.Key]; quarantined {
		n.next.recovered[o.Key] = true
	}
	n.next.entries[o.Key] = e
}

func (n *modelStore) drop(o *object) {
	delete(n.next.rejected, o.Key)
	delete(n.next.entries, o.Key)
}

func (n *modelStore) commit(version string) {
	next := n.next
	n.next = nil
	n.reindex(next.entries)
	for key := range next.rejected {
		if old := n.live[key]; old != nil && next.entries[key] == nil {
			next.entries[key] = old
		}
	}
	for key := range n.quarantine {
		old, e := n.live[key], next.entries[key]
		kept := old != nil && e != nil && (old.bad == e.bad || !next.compareContents && sameVersion(old.object, e.object))
		if !kept || next.recovered[key] {
			delete(n.quarantine, key)
		}
	}
	for key, failed := range next.rejected {
		n.mark(key, failed)
	}
	n.live, n.version = next.entries, version
}

// reindex gives the entries that were made before an index was added its values.
func (n *modelStore) reindex(entries map[string]*modelEntry) {
	for key, e := range entries {
		if len(e.values) < len(n.indexers) {
			if _, ok := n.read(key, e); ok {
				entries[key] = n.index(e)
			}
		}
	}
}

func (n *modelStore) replace(objects []*object, version string) bool {
	for _, o := range objects {
		if isFault(o, "key") || n.packed && isFault(o, "pack") {
			return false
		}
	}
	interrupted := n.next
	n.begin(false)
	for _, o := range objects {
		n.next.entries[o.Key] = n.entry(o)
		n.next.recovered[o.Key] = true
	}
	n.commit(version)
	n.next = interrupted
	return true
}
