// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"iter"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// swap is a commit that replaces all entries at once. Of this file, run and the branches of
// isFromServer serve only the list of a whole collection; of commit.go, so do candidates with all
// false, and markSynced in finish. The rest also serves Store.Replace and, with scopes too, Clear.
type swap struct {
	commit
	next    *state   // to which decide's writes add what is kept
	absence *error   // of the store that is cleared; nil if it is not
	gone    []Change // deletions, which come first
	put     []Change // additions and updates
	release []string // keys that leave the quarantine
}

// run swaps in the list of a feed.
func (c *swap) run() error {
	c.lockCommit()
	defer c.unlockCommit()
	if c.list.clears != c.clears {
		return feed.ErrOutdated
	}
	if set := c.live.Load().indexes.set; c.list.next.indexes.set != set {
		c.list.next = c.reindexed(c.list.next, set) // indexes were added since Begin
	}
	c.next = c.list.next
	c.decideAll()
	c.publishState()
	return nil
}

// Clear removes every entry, as the server no longer serves the collection. If why is nil, the
// objects are gone, and reads return no error until Expect. Otherwise they may exist, their
// deletions have LeftScope, and reads of one key or of an index return why until every scope has
// been listed again. The deletions are one batch of the log. Feeds keep their versions,
// but what they have received before is outdated: each must begin another list. What the program
// writes meanwhile is stored, until a list or another Clear removes it.
//
// It does nothing, and returns false, if ctx has ended, as the server serves the collection again,
// or if a scope has been listed since the previous Clear, and confirmed is false: a list proves
// that the server serves the collection.
func (s *Store) Clear(ctx context.Context, why error, confirmed bool) bool {
	s.lockCommit()
	defer s.unlockCommit()
	if _, listed := s.Listed(); ctx.Err() != nil || listed && !confirmed {
		return false
	}
	if s.Len() > 0 || !s.quarantine.isEmpty() {
		next := newState(s.live.Load().indexes.set, s.isScoped(), s.config.Packer != nil)
		c := &swap{commit: commit{Store: s, exist: why != nil}, next: next, absence: &why}
		c.decideAll()
		c.publishState()
		s.quarantine.releaseScopes(func(*Scope) bool { return true }) // after it: a reader of a key that was quarantined must find the error
	} else {
		s.withMu(func() { s.beginAbsence(why) })
	}
	s.withMu(s.wakeAll)
	return true
}

// isFromServer reports whether the commit has a list of a feed.
func (c *swap) isFromServer() bool { return c.list != nil && c.list.feed != nil }

// decideAll decides on the keys that may change. These are all if the live state has changed since
// Begin, the list ends a failure or has a later state that could not be stored, the program writes,
// or each object is to be an update.
func (c *swap) decideAll() {
	var all bool
	var entries iter.Seq[string]
	c.withMu(func() {
		live := c.live.Load()
		all = c.config.EmitUnchanged || !c.isFromServer() || live.writes != c.list.writes || len(c.list.recovered) > 0 || c.list.keepsEarlier()
		view := live.entries.View()
		live.pages.Advance()
		entries = func(yield func(string) bool) {
			for key := range view.All() {
				if !yield(key) {
					return
				}
			}
		}
	})
	initial := c.synced.Load() == nil && c.isFromServer()
	for key, made := range c.keys(entries, all) {
		c.add(c.decide(key, made), initial)
	}
}

// add adds the changes of a write, and what it keeps. Before the swap, a state that could not be
// stored enters the quarantine; after it, other keys leave: Find takes no lock.
func (c *swap) add(w write, initial bool) {
	kept := w.next
	if w.kind == nothing && kept == nil {
		kept = w.old
	}
	if kept != nil && c.next.entries.Get(w.key) == nil {
		c.next.put(w.key, kept)
	}
	var room [2]Change
	for _, change := range w.appendChanges(room[:0]) {
		if change.Initial = initial; change.New == nil {
			c.gone = append(c.gone, change)
		} else {
			c.put = append(c.put, change)
		}
	}
	if w.failed != nil {
		c.quarantine.add(w.key, *w.failed)
	} else if _, quarantined := c.quarantine.failed(w.key); quarantined && (w.server || w.release != nil) {
		c.release = append(c.release, w.key)
	}
}

// publishState makes the new state live. The caller holds the writer's lock. It holds mu for
// O(quarantined keys and scopes).
func (c *swap) publishState() {
	c.next.trim()
	changes := c.put
	if len(c.gone) > 0 {
		changes = append(c.gone, c.put...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.absence != nil {
		c.beginAbsence(*c.absence)
	}
	live := c.live.Load()
	c.next.version, c.next.writes = live.version, live.writes+1
	c.setLive(c.next)
	if c.isFromServer() {
		for _, key := range c.release {
			c.quarantine.release(key)
		}
		c.list.changed = changes
		c.finish(slices.Values(c.list.feed.Scopes()), changes)
		return
	}
	if c.config.Log != nil {
		c.config.Log.Append(changes)
	}
	if !c.isFed() { // otherwise the version says what the server has sent
		c.live.Load().version = c.version
		c.markSynced()
	}
}
