// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// commit replaces all entries by those of a list, which becomes the live state. The list of scopes
// is a scopeCommit.
type commit struct {
	*Store
	list    *Replacement
	feed    *Feed  // nil for a write of the program, and for Vacate
	version string // of the list
	exist   bool   // the objects of a vacated store exist
	absence *error // of the store that the commit vacates; nil if it does not

	gone   []Change           // deletions, which come first
	put    []Change           // additions and updates
	failed map[string]failure // the list's rejected states that are the newest of their keys
	kept   map[string]bool    // keys of those for which a live entry is kept
}

// Commit implements feed.Replacement. The changes of a whole collection are one batch of the log,
// deletions first, and each snapshot shows all of the list or none. Commit fails if a scope must
// have a list that is not older than a later version.
func (r *Replacement) Commit(resourceVersion string) error {
	if err := r.commit(resourceVersion); err != nil {
		return err
	}
	r.feed.config.Listed()
	r.feed.config.Progressed()
	return nil
}

func (r *Replacement) commit(version string) error {
	if r.store.isScoped() {
		r.feed.Take()
		return newScopeCommit(r, version).run()
	}
	return (&commit{Store: r.store, list: r, feed: r.feed, version: version}).run()
}

// Replace makes values the whole collection, regardless of their versions. On error the store is
// unchanged. A store with scopes cannot be replaced.
func (s *Store) Replace(values []any, resourceVersion string) error {
	if s.isScoped() {
		return errReplaced
	}
	c := &commit{Store: s, version: resourceVersion}
	s.lockCommit()
	defer s.unlockCommit()
	r := s.begin(nil, s.deferReport)
	c.list = r
	for i := range values {
		key, err := s.keyOfValue(values[i])
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		var pair entryPair
		if _, _, err := s.makeOwn(&pair, &r.maker, key, &values[i]); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		r.repeats = r.next.put(key, &pair.next) != nil || r.repeats
		r.record(key, true)
	}
	c.replaceAll()
	return nil
}

var errReplaced = errors.New("the objects of an informer with scopes cannot be replaced as a whole")

// run decides on every key and publishes the list. It holds the lock of commits and the writer's.
func (c *commit) run() error {
	c.lockCommit()
	defer c.unlockCommit()
	if set := c.live.Load().indexes.set; c.list.next.indexes.set != set {
		c.list.next = c.reindexed(c.list.next, set) // indexes were added since Begin
	}
	if c.list.vacations != c.vacations {
		return feed.ErrOutdated
	}
	c.decideAll(c.view())
	for key, f := range c.failed {
		if !f.skipped() {
			c.quarantine.add(key, f)
		}
	}
	c.quarantine.setUnnamed(nil, c.list.unnamed)
	c.publish(c.resolved())
	return nil
}

// entryView is a view of a state's entries.
type entryView = snapmap.View[valueRef, entryMeta]

// view returns a view of the live entries.
func (c *commit) view() (view entryView) {
	c.withMu(func() {
		live := c.live.Load()
		view = live.entries.View()
		live.pages.Advance()
	})
	return view
}

// replaceAll commits a write of the program, which holds the lock of commits and the writer's.
func (c *commit) replaceAll() {
	if c.config.Log != nil {
		c.withMu(func() { c.list.writes = c.live.Load().writes + 1 }) // every key may differ
		c.decideAll(c.Snapshot().entries)
	}
	c.publish(nil)
}

// decideAll decides on the list's states that could not be stored, then on the entries that the
// list lacks, and then on those that it has, in list order.
func (c *commit) decideAll(view entryView) {
	c.failed, c.kept = make(map[string]failure), make(map[string]bool)
	for key, f := range c.list.rejected {
		c.settleFailure(key, f)
	}
	view.All()(func(key string, _ snapmap.Item[valueRef, entryMeta]) bool {
		if c.list.next.entries.Get(key) == nil {
			c.remove(key, new(Entry).fromMap(c.entries.Item(key)))
		}
		return true
	})
	all := c.config.EmitUnchanged
	c.withMu(func() { all = all || c.live.Load().writes != c.list.writes })
	for key, made := range c.list.candidates(all) {
		c.putEntry(key, made)
	}
}

// candidates yields each key of the list whose entry may differ from the live one once, and whether
// the entry was made for the list. If all is true, these are all keys.
func (r *Replacement) candidates(all bool) iter.Seq2[string, bool] {
	return func(yield func(key string, made bool) bool) {
		seen := make(map[string]struct{})
		for _, key := range r.made {
			_, again := seen[key]
			if again || r.next.entries.Get(key) == nil { // removed from the list since
				continue
			}
			if !yield(key, true) {
				return
			}
			if all || r.repeats {
				seen[key] = struct{}{}
			}
		}
		if !all || len(seen) == r.next.entries.Len() { // all other entries are shared with the live state
			return
		}
		for key := range r.next.entries.All() {
			if _, again := seen[key]; !again && !yield(key, false) {
				return
			}
		}
	}
}

// remove removes an entry that the list lacks. It keeps the entry if an item that cannot be
// identified may be its object. A restore of the server has undone a version that is newer than the
// list's: it is forgotten then.
func (c *commit) remove(key string, old *Entry) {
	refused := c.list.isRefused(key, old)
	if c.list.unidentified && !refused {
		kept := *old
		kept.forgetVersion(identityOf("", c.version))
		c.list.next.put(key, &kept)
		c.kept[key] = true
		return
	}
	if old.scope().isUnlisted() { // of a store that is vacated: handlers have not received it
		return
	}
	change := Change{Key: key, Old: old, Initial: c.isInitial(), LeftScope: refused}
	if c.exist {
		change.Final, change.LeftScope = change.Old, true
	}
	c.gone = append(c.gone, change)
}

// putEntry decides on a key of the list.
func (c *commit) putEntry(key string, made bool) {
	old, entry := new(Entry).fromMap(c.entries.Item(key)), new(Entry).fromMap(c.list.next.entries.Item(key))
	if old != nil && c.sameState(c.list, key, old, entry, made) {
		if c.config.EmitUnchanged {
			c.put = append(c.put, Change{Key: key, Old: old, New: entry})
		}
		return
	}
	initial := c.isInitial()
	if old != nil && !old.sameObject(entry.identity()) {
		c.gone = append(c.gone, Change{Key: key, Old: old, Initial: initial, LeftScope: c.list.isRefused(key, old)})
		old = nil
	}
	c.put = append(c.put, Change{Key: key, Old: old, New: entry, Initial: initial})
}

// isInitial reports whether changes are part of the first full state of the store. A write of the
// program into the store of an informer is not.
func (c *commit) isInitial() bool {
	return c.synced.Load() == nil && (c.feed != nil || !c.isFed())
}

// sameState reports whether the entry of a list is the same state of its object as old, the live
// entry. made reports whether entry was made for the list. Values are compared, and not index
// values, which change if an index was added since Begin.
func (s *Store) sameState(list *Replacement, key string, old, entry *Entry, made bool) bool {
	if list.compareContents || !made && old.ref == entry.ref {
		return old.ref == entry.ref
	}
	return old.sameVersion(entry.identity()) && s.isRepair(key, old, entry)
}

// settleFailure handles a state of the list that could not be stored, or is ignored: the live entry
// is kept.
func (c *commit) settleFailure(key string, f failure) {
	c.failed[key] = f
	id := f.identity()
	at, kept := c.lastGood(key, new(Entry).fromMap(c.entries.Item(key)), id)
	if kept == nil {
		return
	}
	entry := *kept
	if f.skipped() {
		entry.forgetVersion(id)
		c.list.record(at, false)
	}
	c.list.next.put(at, &entry)
	c.kept[at] = true
}

// lastGood returns the live entry of the object of a rejected state, nil if there is none or the
// list has another state under its key, and its key: a transform may have renamed the object.
func (c *commit) lastGood(key string, old *Entry, id identity) (at string, kept *Entry) {
	if c.renames.Load() && id.uid != 0 && (old == nil || old.uid != id.uid) {
		for other, item := range c.entries.All() {
			if item.Meta.uid == id.uid {
				key, old = other, new(Entry).fromMap(item)
				break
			}
		}
	}
	if old == nil || !old.sameObject(id) || c.list.next.entries.Get(key) != nil {
		return key, nil
	}
	return key, old
}

// resolved returns the quarantined keys to release: all but those whose live entry the list keeps
// and a reader found unreadable after it was added.
func (c *commit) resolved() (keys []string) {
	for key := range c.quarantine.failures() {
		old, entry := new(Entry).fromMap(c.entries.Item(key)), new(Entry).fromMap(c.list.next.entries.Item(key))
		_, recovered := c.list.recovered[key]
		if recovered || entry == nil || old == nil || !c.sameState(c.list, key, old, entry, false) {
			keys = append(keys, key)
		}
	}
	return keys
}

// publish makes the list live, releases the resolved keys, and appends the changes to the log,
// before the version is reached: a caller that waits for that reads nothing older. The listing
// changes in the same step: after the swap, so that a reader that takes the collection for listed
// finds its entries, and before the log, so that a handler reads what it has received. The caller
// holds the writer's lock. It holds mu for O(resolved keys and scopes).
func (c *commit) publish(resolved []string) {
	changes := c.put
	if len(c.gone) > 0 {
		changes = append(c.gone, c.put...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.absence != nil {
		c.beginAbsence(*c.absence)
	}
	live, next := c.live.Load(), c.list.next
	next.version, next.writes = live.version, live.writes+1
	c.swap(next)
	for _, key := range resolved { // after the swap: Find takes no lock
		if f, failed := c.failed[key]; !failed || f.skipped() {
			c.quarantine.release(key)
		}
	}
	if c.feed != nil {
		c.beginListing(slices.Values(c.feed.Scopes()), func(c *Scope) *atomic.Uint64 { return &c.listed })
	}
	if c.config.Log != nil {
		c.config.Log.Append(changes)
	}
	c.advance()
	c.list.changed = changes
}

// advance records that the collection has reached the list's version. The caller holds both locks.
func (c *commit) advance() {
	switch {
	case c.feed != nil:
		c.feed.reachListed(slices.Values(c.feed.Scopes()), c.version)
		c.endAbsence()
		c.markSynced()
		c.scopes.oldest = nil
		c.settle()
	case !c.isFed(): // otherwise the version says what the server has sent
		c.live.Load().version = c.version
		c.markSynced()
	}
}

// Vacate removes every entry, as the server no longer serves the collection; see doc.go. If why is
// nil, the objects are gone. Otherwise they may exist, and why is the error of reads. The deletions
// are one batch of the log.
//
// It does nothing, and returns false, if ctx has ended, as the server serves the collection again,
// or if a scope has been listed, and confirmed is false: a list proves that the server serves the
// collection.
func (s *Store) Vacate(ctx context.Context, why error, confirmed bool) bool {
	s.lockCommit()
	defer s.unlockCommit()
	if _, listed := s.Listed(); ctx.Err() != nil || listed && !confirmed {
		return false
	}
	if s.Len() > 0 || !s.quarantine.isEmpty() {
		c := &commit{Store: s, list: s.begin(nil, s.deferReport), exist: why != nil, absence: &why}
		c.replaceAll()
		c.quarantine.releaseScopes(func(*Scope) bool { return true }) // after it: a reader of a key that was quarantined must find the error
	} else {
		s.withMu(func() { s.beginAbsence(why) })
	}
	s.withMu(s.wakeAll)
	return true
}
