// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps a collection of objects by key, with indexes, immutable snapshots and a log
// of changes.
//
// A Store is generic over any Go type: its Config supplies the functions that read values. An entry
// holds a value, or the bytes from which a Packer decodes one when it is read. Each entry also
// records the object's identity and index values when it is stored, so neither a transform that
// drops fields nor a caller that modifies a cached object can corrupt the store's bookkeeping.
//
//	one reflector each                        readers
//	      │                                      ▲
//	    Feed ── Apply ──▶ decide ─▶ write ─▶ publish ──▶ entries, indexes, log
//	      │                                      ▲
//	      └──── Begin ──▶ Replacement ─▶ commit ─┘       Put, Remove, Replace: the program
//
// A [Feed] is the way in for what a server sends. It applies the filter, finds the [Scope] of each
// item, and passes over what is in none. An event is decided and made, which may call functions of the
// program, and then published under one hold of mu. A list is collected as a [Replacement] beside the
// live state. Its commit changes a fork of the live state key by key, and then makes the fork live.
//
// # Scopes
//
// A scope is a part of the collection that is listed and watched on its own. A store of a whole
// collection has one scope, which no entry records, and pays for none of what follows: an event that is
// not newer than the stored state is ignored (compare), and a list replaces everything.
//
// An object that moves from one scope to another is updated, and never deleted in between. The scopes of
// an informer are disjoint: an object is in one of them at a time. But its key may appear in two, as an
// object that was recreated, or whose labels have changed, is in another scope than before, and the
// feed of one scope may be ahead of that of the other. The life of a scope:
//
//	AddScope      it has no objects. Its first list must not be older than what other scopes that
//	              may hold the same keys, and removed ones, have reached (Feed.NotOlderThan). Later
//	              lists may be older
//	NewFeed       it has a feed. A second one may join, repeats events of the first, and takes its
//	              place once it has caught up (HasCaughtUp, Drop)
//	Commit        its entries are those of the list; it is synced
//	RetireScope   other scopes take its objects over; it takes over none
//	RemoveScopes  its entries leave, at once, with the change of a commit
//
// What becomes of a state, or of a deletion, that a scope passes at a version depends on what is known
// of its key: the live entry, the state that could not be stored, if there is one (quarantine), and the
// tombstone. An entry is one of a scope if it is in that scope, or if the program has written it and
// the scope may hold it. The rules, of which the first that applies decides (judge, judgeDeletion):
//
//	a state that                                            is
//	──────────────────────────────────────────────────────  ─────────────────────────────────────────
//	the scope has reached before, by another feed           dropped
//	is of the same object as the scope's own entry, or is   stored
//	in a list that replaces that entry
//	is older than the tombstone, and comes by an event, or  dropped
//	by a list from before it
//	comes from a retiring scope, while another scope's      dropped
//	state of the key could not be stored
//	has no live entry, or one of the scope                  stored
//	comes from a retiring scope, while the entry is in      dropped
//	another one
//	is older than another scope's entry, if the list does   dropped; after a restore of the server the
//	not show it                                             scope is listed again
//	is the same as another scope's entry                    not stored; the entry moves to the scope
//	is newer than another scope's entry                     stored
//
//	a deletion of                                           does
//	──────────────────────────────────────────────────────  ─────────────────────────────────────────
//	the scope's own entry                                   remove it, once no scope may have it
//	another scope's entry that is older, if that scope      the same
//	retires, or the filter refuses the state
//	anything else                                           leave a tombstone
//
// A state that could not be stored, or is ignored, belongs to its key and scope as if it had been
// stored: the last good entry moves to the scope with it, and a deletion of that entry waits no more.
//
// An object that the program writes is in the scope of the entry that it replaces. Without one, it is in
// no scope, and so one of every scope that may hold it, by its key and UID: the next list of one of them
// that lacks it removes it, and it leaves with the last of them.
//
// A tombstone says which states of a key are superseded. It is kept until every scope that may pass
// such a state has reached the version of what has superseded it: the deletion, or a newer state. There
// are at most 10,000, or as many as there are objects. Beyond that, the oldest is dropped (giveUp), and
// the scopes that have not passed it must have a list that is not older (Scope.minVersion,
// feed.Outdated). The deletion of an entry waits at its tombstone while scopes of other selectors, into
// which the object may have moved, have not reached its version: to the server, both are the same event.
//
// # Concurrency
//
// A Store has three locks, which are taken in this order:
//
//	commits  serializes commits, and changes of scopes, feeds and indexes.
//	writer   serializes writes. An event holds it from reading the old state until the new one is
//	         published. A commit of scopes gives it back after each 512 keys, and then decides again
//	         on those that were written meanwhile; one of a whole collection holds it while it
//	         compares, about 1 µs for each object of the list. User functions (decode, transform,
//	         index) may run under it; they may read the store but must not write to it. Errors are
//	         reported after the release of these two locks, and filters run under no lock.
//	mu       guards the published state: the maps, the indexes, the resourceVersion, the scopes, the
//	         tombstones and the order of the log. A writer holds it to publish a change or to swap in
//	         a whole state, and Snapshot holds it to copy the roots of the maps. It is held for a time
//	         that does not depend on the number of objects, but for the deletions that no longer wait.
//	         No user function runs under it.
//
// The scopes and tombstones are written under writer and mu, and may be read under either. The
// quarantine, the hot set and the waiters each have a lock of their own, which may be taken under the
// others and takes no other.
//
// Get of a value that need not be decoded takes no lock. All other reads use a Snapshot, which all
// readers share until the next write. The first snapshot after a write takes mu for O(1).
//
// # Invariants
//
//   - A change is published in the maps before it is appended to the log, and mu is held until
//     both are done. A snapshot and a cursor taken together under mu therefore show each change
//     exactly once: either in the snapshot or at the cursor.
//   - A list, and the removal of scopes, is swapped in under mu. A snapshot shows all of it or none.
//   - A commit keeps the entry of an object whose UID and version are the store's, without decoding
//     the item. Before, it compares the contents of the newest eight of them, and fails if one
//     differs: a restored server has used the version again, and any other entry may differ, too. The
//     list is then repeated with CompareContents.
//   - Each key is in an index, and in the set of its scope, under exactly the values that its entry
//     records. An index has no value without keys.
//   - A key is quarantined from the time its newest state cannot be stored or read until a later
//     state is stored, the object is deleted, or a list resolves it.
package store
