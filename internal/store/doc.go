// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps a collection of objects by key, with indexes, immutable snapshots and a log
// of changes.
//
// A Store holds values of any Go type: its Config supplies the functions that read them. An entry
// holds a value, without an interface around it if all are of the Config.PointerType, or the bytes
// from which a Packer decodes one when it is read. A decoded value of that type is shared by the
// readers of its entry while one of them references it, and the log references those of its newest
// changes that were decoded to be packed (recentValues). Each entry also records the object's
// identity and index values when it is stored, so neither a transform that drops fields nor a
// caller that modifies a cached object can corrupt the store's bookkeeping.
//
//	one reflector each                        readers
//	      │                                      ▲
//	    Feed ── Apply ──▶ decide ─▶ write ─▶ publish ──▶ entries, indexes, log
//	      │                                      ▲
//	      └──── Begin ──▶ Replacement ─▶ commit ─┘       Put, Remove, Replace: the program
//
// A [Feed] is the way in for what a server sends. It finds the [Scope] of each item, passes over
// items that are in none, and applies the filter. A stored object whose new state the filter
// refuses is removed: its [Change] has LeftScope, and carries the refused state if an event brought
// it, or the last accepted one if a list did. An event is decided and made, which may call
// functions of the program, and then published under one hold of mu. A list is collected as a
// [Replacement] beside the live state. Its commit makes the list itself the live state or, with
// scopes, writes it into the live state in pieces.
//
// The files, from the bottom up: each uses what those above it in this list declare.
//
//	waiters, scope, quarantine   what callers wait for; the scopes; the keys that could not be stored
//	entry, index, tombstone      what is kept of an object, or of one that is gone
//	config, value, item          values from entries, and entries from items: what calls the program
//	snapshot, published, write   what readers see (type published), and how it changes
//	store                        the locks of writers, and what the program writes
//	apply, feed                  an event: what becomes of it
//	replacement, commit          the list of a whole collection: collected, and made the state
//	scope_commit                 the list of scopes, or their removal: written in pieces
//
// # Scopes
//
// A scope is a part of the collection that is listed and watched on its own: a namespace, a label
// and a field selector, and a range of hashes, each of which may be absent (package scope). A store
// of a whole collection has one scope, which no entry records, and pays for none of what follows:
// an event that is older than the stored state, or repeats it, is ignored (package keep), and a
// list replaces everything, also what the program has written. Older means a lower resourceVersion,
// compared as a number, whatever the UID; a state without one is never older. The same object has
// the same key and UID.
//
// The key and the UID of an object determine its scope (scope.Set). So two scopes pass states of
// one key only if its name was recreated in another range of UIDs, and the feed of one scope may be
// ahead of the other's. The life of a scope:
//
//	AddScope      it has no objects of the server. Its first list must not be older than the version
//	              that removed scopes, or scopes that may hold the same keys, have reached
//	              (Feed.NotOlderThan). Later lists may be older than that, but not than minVersion,
//	              which dropped tombstones raise
//	NewFeed       it has one feed. Another one may take its place (Take), which may repeat events of
//	              the first
//	Commit        its entries become those of the list, and it is listed; see Pieces
//	RemoveScopes  its entries are removed; see Pieces
//
// An event is dropped if its scope has reached a later version before, as by an earlier feed. What
// becomes of another state, or of a deletion, package keep decides, by what is known of its key:
// the live entry, the state that could not be stored, if there is one (see Failures), and the
// tombstone (caseOf, in apply.go).
//
// An object that the program writes is in the only scope that may hold it (Config.ScopeOf), which
// need not have been added: AddScope then returns the scope that has the entry. A list of the scope
// that lacks the object removes it, also a list from before the write. A list that has the object
// with the UID and resourceVersion of the written one keeps the written one, as any unchanged entry
// (see Invariants). A transform must not rename objects of a store with scopes: an object that it
// renames is not stored.
//
// # Tombstones
//
// A tombstone says that states of a key before a version are superseded: by a deletion, or by a
// newer state that left the scope, could not be stored, or is ignored. It is recorded while another
// scope that may hold the key has not reached that version, and kept until all of these have. There
// are at most 10,000, or as many as there are objects if these are more. Beyond that, the oldest is
// dropped, which raises Scope.minVersion of the scopes that lag behind it: Feed.Apply returns
// feed.Outdated for an older event, Commit feed.ErrOutdated for an older list, and the reflector
// lists again, not older than Feed.NotOlderThan.
//
// # Restores
//
// A feed whose consistent read is older than what its scopes, or scopes that share keys with them,
// had reached when it began has noticed that the server was restored. That begins an epoch:
// tombstones and bounds are forgotten, and entries of scopes of an earlier epoch give way to any
// state of a scope of this one. Scopes that share keys are outdated: their events are refused, and
// their next list compares contents. Scopes of other keys find out for themselves.
//
// # Pieces
//
// The list of a scope, and the removal of one, are ordinary writes of at most 512 keys under one
// hold of the locks: what the list lacks, and then what it has, in its order. Events of other
// scopes pass between the pieces, and readers have a part of the list. All that may refuse the list
// comes before the first piece, and the version of the scope moves after the last one. The lock of
// commits is held meanwhile: scopes, feeds and indexes do not change.
//
// A piece is a batch of the log, but handlers receive nothing of a scope before it is listed: its
// first list is one batch, made in the hold of mu that makes the scope listed, of the entries as
// they are then. If one replaces an entry of another scope, that one's deletion is logged at once. A
// handler that is added meanwhile begins without the entries of such scopes
// (Snapshot.DeliveredKeys).
//
// # Listings
//
// A listing is the number of the set of listed scopes, which readers take without a lock
// (Store.Listing, Scope.IsListedAt). It changes in the step that ends a first list, or begins a
// removal:
//
//	a first list  entries, listing, log   an absent key of a listed scope is not in its list, and what
//	                                      a handler has received, reads know
//	a removal     listing, then pieces    a reader that misses an entry finds that its scope is not
//	                                      listed
//
// A reader that finds the listing changed between its two reads of a key reads again (Find).
//
// # A collection that is not served
//
// Vacate removes all entries at once, as the server no longer serves the collection, unless it does
// again, or a scope has been listed which the caller does not know of. If its objects may exist,
// their deletions have LeftScope, and what reads one key or an index returns the reason (Absence)
// until every scope has been listed again. If they are gone, reads return no error until the server
// serves the collection again (Expect). Feeds keep their versions, but what they have received
// before is refused as outdated: each must begin another list. What the program writes meanwhile is
// stored, until another Vacate or a list removes it.
//
// # Failures
//
// A state that cannot be decoded, transformed, filtered or keyed is not stored, and its key is
// quarantined until a later state is stored or ignored, the object is deleted, a list has a state
// that can be stored or lacks the object, or its scope is removed. The last good entry stays, over
// a list, too; it is removed if it has another UID, unless a transform has renamed an object.
// Without an entry, the key is absent, and KeyError has the cause. The reflector lists the objects
// again when its watch ends, then less and less often (retryQuarantined, in
// internal/reflector/watch.go). An entry whose packed bytes cannot be decoded by a reader is
// quarantined, too.
//
// # Concurrency
//
// A Store has three locks, which are taken in this order:
//
//	commits  serializes commits, and changes of scopes, feeds and indexes.
//	writer   serializes writes. An event holds it from reading the old state until the new one is
//	         published. A commit of scopes gives it back after each piece. A commit of a whole
//	         collection holds the lock while it compares, about 1 µs for each object of the list.
//	         Key, decode, transform and index functions, and ScopeOf, may run under it; they may
//	         read the store but must not write to it. Filters run, and errors are reported, under no
//	         lock of the store, but perhaps under gate.mu of package source.
//	mu       guards the published state: the maps, the indexes, the resourceVersion, the scopes, the
//	         tombstones and the order of the log. A writer holds it to publish a change or to swap in
//	         a whole state, and Snapshot holds it to copy the roots of the maps. It is held for a
//	         piece or O(scopes), and for the tombstones and quarantined keys that a change resolves.
//	         Only Config.Now and the function of RemovePendingScopes run under it.
//
// In comments, both locks are writer and mu, and a lock of the store is either of these. The scopes
// and tombstones are written under both locks, and may be read under either. The quarantine and the
// waiters each have a lock of their own, which may be taken under the others and takes no other.
//
// Get takes no lock, except briefly to report a value that it cannot decode. Reads of several
// objects use a Snapshot, which all readers share until the next write; its first one after a write
// takes mu for O(1). Reads of an entry's metadata, and of versions, take mu. FindStored and a
// Snapshot's Stored return values as they are kept, for readers that decode a part of them.
//
// # Invariants
//
//   - A change is published in the maps before it is appended to the log, and mu is held until
//     both are done. A snapshot and a cursor taken together under mu therefore show each change
//     exactly once: either in the snapshot or at the cursor.
//   - The list of a whole collection, and Vacate, are swapped in under mu. A snapshot shows all of
//     the list or none.
//   - A list keeps the entry of an object whose UID and version are the store's, and does not
//     decode the item, unless CompareContents or EmitUnchanged is set. CompareContents keeps it if
//     the contents are equal, or one write has made both states (package history).
//   - Each index has a key under exactly the values that its entry records, and the set of a scope
//     has exactly the keys whose entries record it. An index has no value without keys.
package store
