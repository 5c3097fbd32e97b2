// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/keep"
)

// commit makes a list the state of a store or of scopes, or removes entries. It decides on each key
// once. What replaces a whole collection is swapped in (commit_whole.go), as is what Clear leaves,
// and what replaces scopes is published in pieces (commit_scopes.go).
type commit struct {
	*Store
	list    *Replacement // nil if scopes are removed, and for Clear
	version string       // of the list
	// unordered reports whether the version cannot be compared. Only versions of one object are
	// compared then, and nothing is remembered of objects that are gone.
	unordered bool
	exist     bool               // the objects of a commit without a list exist
	replaced  map[*Scope]bool    // the scopes whose entries are replaced; nil for all entries
	failed    map[string]bool    // the keys of the list's states that could not be stored
	renamed   map[uint64]failure // by UID, the states of these of which a transform may have renamed the object; set by renamedTo
}

// Commit implements feed.Replacement. The changes of a whole collection are one batch of the log,
// deletions first, and each snapshot shows all of the list or none. Commit returns an error that
// wraps feed.ErrOutdated if the store was cleared since Begin, or the list is too old for a scope
// (pieces.beginList).
func (r *Replacement) Commit(resourceVersion string) error {
	s := r.store
	c := commit{Store: s, list: r, version: resourceVersion, unordered: !feed.Reaches(resourceVersion, resourceVersion), failed: make(map[string]bool)}
	var err error
	if s.isScoped() {
		r.feed.Take()
		err = newPieces(c).run()
	} else {
		err = (&swap{commit: c}).run()
	}
	if err != nil {
		return err
	}
	r.feed.config.Listed()
	r.feed.config.Progressed()
	return nil
}

// replaces reports whether the entries of a scope, which may be nil, are replaced.
func (c *commit) replaces(scope *Scope) bool { return c.replaced == nil || c.replaced[scope] }

// has reports whether the list has an entry under a key.
func (c *commit) has(key string) bool { return c.list.next.entries.Get(key) != nil }

// keys yields each key to decide on once, and whether the list has an entry that was made for it:
// first those of entries that the list lacks, and then those that it has: the made ones in its
// order. Of these, it yields all if all is true, and otherwise those that may have changed.
func (c *commit) keys(entries iter.Seq[string], all bool) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for key := range entries {
			isListed := false
			if c.list != nil {
				_, rejected := c.list.rejected[key]
				isListed = rejected || c.has(key)
			}
			if !isListed && !yield(key, false) {
				return
			}
		}
		if c.list == nil {
			return
		}
		for key := range c.list.rejected {
			if !c.has(key) && !yield(key, false) {
				return
			}
		}
		c.list.candidates(all)(yield)
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
		if !all || len(seen) == r.next.entries.Len() { // if not all: the others are those of the live state
			return
		}
		for key := range r.next.entries.All() {
			if _, again := seen[key]; !again && !yield(key, false) {
				return
			}
		}
	}
}

// decide returns the write of a key. The write may be empty. The caller holds the lock of commits
// and the writer's.
func (c *commit) decide(key string, made bool) write {
	old := new(Entry).fromMap(c.entries.Item(key))
	w := write{key: key, old: old}
	if c.list == nil {
		if c.isRemoved(key, old) {
			w = c.removedWrite(key, old)
		}
		return w
	}
	f, rejected := c.list.rejected[key]
	rejected = rejected && c.replaces(f.scope) && c.verdict(keep.Item, key, f.scope, f.identity(), f.version, old) != keep.Ignore
	if rejected {
		w = c.keepLastGood(key, f, old, c.tombstone(key, f.version))
		c.failed[key] = !f.skipped()
	}
	t, failed := w.tombstone, w.failed
	switch entry := new(Entry).fromMap(c.list.next.entries.Item(key)); {
	case entry != nil: // perhaps beside a later state, which is rejected
		id := entry.identity()
		if !c.replaces(entry.scope()) || c.verdict(keep.Item, key, entry.scope(), id, id.versionText(), old) == keep.Ignore {
			return write{key: key, old: old}
		}
		w = c.listedWrite(key, old, entry, made)
	case rejected && (old == nil || old.sameObject(f.identity()) || !c.renames.Load()):
		return w
	case c.isRemoved(key, old):
		w = c.missingWrite(key, old)
	}
	if rejected {
		w.tombstone, w.failed = t, failed
	}
	return w
}

// verdict decides on a state of the list, or on a key that is missing in it.
func (c *commit) verdict(kind keep.Arrival, key string, of *Scope, id identity, version string, old *Entry) keep.Verdict {
	item := feed.Item{Key: key, ResourceVersion: version, Unordered: c.unordered}
	own := old != nil && c.replaces(old.scope())
	return keep.Decide(c.caseOf(arrival{kind, of, item, id, c.version, own}, old))
}

// isRemoved reports whether the entry of a key that the list lacks is removed.
func (c *commit) isRemoved(key string, old *Entry) bool {
	return c.verdict(keep.Missing, key, nil, identity{}, "", old) == keep.Remove
}

// tombstone returns the tombstone of a state, nil if none is recorded.
func (c *commit) tombstone(key, version string) *tombstone {
	if c.unordered || !c.isScoped() {
		return nil
	}
	return &tombstone{key: key, version: version}
}

// removedWrite returns the write that removes an entry without a list.
func (c *commit) removedWrite(key string, old *Entry) write {
	w := write{kind: deletion, key: key, old: old, by: old.scope(), server: true, tombstone: c.tombstone(key, old.serverVersion())}
	if c.exist {
		w.final, w.leftScope = old, true
	}
	return w
}

// missingWrite returns the write of an entry that the list lacks. It keeps the entry if its object
// may be that of an item that cannot be identified, or was renamed by a transform that fails now. A
// restore of the server has undone a version that is newer than the list's: it is forgotten then,
// and any older state may exist.
func (c *commit) missingWrite(key string, old *Entry) write {
	if f, renamed := c.renamedTo(old); renamed {
		w := c.keepLastGood(key, f, old, nil)
		w.failed = nil // it is one of another key
		return w
	}
	refused := c.list.isRefused(key, old)
	if c.list.unidentified && !refused {
		kept := *old
		kept.forgetVersion(identityOf("", c.version))
		w := write{key: key, old: old}
		w.keep(&kept)
		return w
	}
	w := write{kind: deletion, key: key, old: old, by: old.scope(), server: true, leftScope: refused}
	if old.isWritten() { // the server may never have had it
		w.by = nil
	}
	if version := old.serverVersion(); !feed.IsOlder(c.version, version) {
		w.tombstone = c.tombstone(key, version)
	}
	return w
}

// renamedTo returns the state of an entry's object that the list has under another key, if a
// transform has renamed the object, and fails. An object of which the list or the store has an
// entry under the own key of that state was not renamed.
func (c *commit) renamedTo(old *Entry) (f failure, ok bool) {
	if !c.renames.Load() || old.uid == 0 {
		return f, false
	}
	if c.renamed == nil {
		c.renamed = make(map[uint64]failure)
		for key, f := range c.list.rejected {
			if c.list.next.entries.Item(key).Meta.uid != f.uid && c.entries.Item(key).Meta.uid != f.uid {
				c.renamed[f.uid] = f
			}
		}
	}
	f, ok = c.renamed[old.uid]
	return f, ok
}

// listedWrite returns the write of an entry of the list.
func (c *commit) listedWrite(key string, old, entry *Entry, made bool) write {
	if set := c.live.Load().indexes.set; entry.lacksIndexOf(set) { // it was added since Begin
		c.addIndexValues(set, key, entry)
	}
	w := write{kind: update, key: key, old: old, next: entry, by: entry.scope(), server: true}
	switch {
	case old == nil:
	case c.sameState(c.list, key, old, entry, made):
		w.kind, w.server, w.unchanged = nothing, false, c.config.EmitUnchanged
		w.keep(entry)
		if _, recovered := c.list.recovered[key]; recovered {
			w.release = []string{key}
		}
	case !old.sameObject(entry.identity()):
		w.leftScope = c.list.isRefused(key, old)
	}
	return w
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

// finish ends the commit of a list in one step, so that a caller that waits for its version reads
// nothing older. It makes the scopes listed, logs changes (with scopes, only those of first lists:
// the others were logged by pieces), moves the scopes to the list's version, and releases the keys
// whose failures the list resolves. The caller holds both locks.
func (c *commit) finish(scopes iter.Seq[*Scope], changes []Change) {
	for key, f := range c.quarantine.failures() {
		isKept := c.has(key) || c.list.unidentified && c.entries.Get(key) != nil
		if c.replaces(f.scope) && !c.failed[key] && !isKept {
			c.quarantine.release(key)
		}
	}
	unnamed := c.list.unnamed
	for scope := range scopes {
		c.quarantine.setUnnamed(scope.mark(), unnamed)
		unnamed = 0
	}
	c.beginListing(scopes, func(c *Scope) *atomic.Uint64 { return &c.listed })
	if c.config.Log != nil {
		c.config.Log.Append(changes)
	}
	c.list.feed.reachListed(scopes, c.version)
	c.endAbsence()
	if !c.isScoped() {
		c.markSynced()
	}
	c.scopes.oldest = nil
	c.settle()
}
