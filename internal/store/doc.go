// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps a collection of objects by key, with indexes, immutable snapshots and a log
// of changes.
//
// A Store holds values of any Go type: its Config supplies the functions that read them. An entry
// holds a value, or the bytes from which a Packer decodes one when it is read. It records the
// object's identity and index values as it is stored, so that neither a transform that drops fields
// nor a caller that modifies a cached object can corrupt the store. A store is that of an informer
// (isFed), of a whole collection or with scopes (isScoped), or the program's alone.
//
//	one reflector each                        readers
//	      │                                      ▲
//	    Feed ── Apply ──▶ decide ─▶ write ─▶ publish ──▶ entries, indexes, log
//	      │                          ▲           ▲
//	      └──── Begin ──▶ Replacement ─▶ commit ─┘       Put, Remove, Replace: the program
//
// A [Feed] is the way in for what a server sends. It finds the [Scope] of each item, passes over
// items that are in none, and applies the filter. The store decides on an event and makes its
// entry, which may call functions of the program, and then publishes it under one hold of mu. A
// list is collected as a [Replacement] beside the live state, and then committed. Package keep
// decides what becomes of an arrival; the store says how that relates to what is known of its key
// (caseOf).
//
// The files, from the bottom up:
//
//	waiters, scope, quarantine   what callers wait for; the scopes; the keys that could not be stored
//	entry, shared, index         what is kept of an object
//	tombstone                    what is kept of one that is gone
//	config, value, item          values from entries, and entries from items: what calls the program
//	snapshot, published, publish what readers see (type published), and how it changes
//	store, write                 the locks of writers; what the program writes
//	apply, feed                  an event: what becomes of it
//	replacement, commit          a list: collected, and decided on
//	commit_whole, commit_scopes  how it replaces a whole collection at once, and scopes in pieces
//	restore                      what a restore of the server means for scopes
//
// # Scopes
//
// A scope is a part of the collection that is listed and watched on its own (package scope). The
// key and the UID of an object determine it, so two scopes deliver states of one key only if its
// name was recreated in another range of UIDs. A store of a whole collection has one scope, which
// no entry records, and no tombstones. The life of a scope:
//
//	AddScope      adopts the entries that the program has written into it. Its first list must not
//	              be older than what removed scopes, and those that may hold the same keys, have
//	              reached, and later lists not older than its minVersion
//	NewFeed       it has one feed. Another one may take its place (Take), and repeat its events. An
//	              event is dropped if the scope has reached a later version before
//	Commit        its entries become those of the list, except those of which the store knows a later
//	              state; it is listed. What the program has written, and the list lacks, is removed
//	RemoveScopes  its entries are removed
//	a restore     a consistent read that is older than what the feed's scopes, or those that share
//	              keys with them, had reached shows that the server was restored. That begins an
//	              epoch (noteRestore): scopes that share keys are outdated until they are listed
//
// Handlers receive nothing of a scope before it is listed, and then its first list as one batch.
// The set of listed scopes has a number, the listing ([Store.Listing]), which changes after the
// entries of a first list and before its batch is in the log, and before the first entry of a
// removed scope leaves. So what a handler has received, reads know; and a reader that misses an
// entry of a listed scope knows that the scope lacks the object.
//
// # Concurrency
//
// A Store has three locks, which are taken in this order. The quarantine and the waiters each have
// one of their own, which takes no other.
//
//	commits  serializes commits, and changes of scopes, feeds and indexes.
//	writer   serializes writes. An event holds it from reading the old state until the new one is
//	         published. A commit in pieces holds it for 512 keys, and a swap for the comparison:
//	         about 1 µs for each object. Functions of the program may run under it; they may read
//	         the store but must not write to it. Filters run, and errors are reported, under no
//	         lock of the store.
//	mu       guards the published state: the maps, the indexes, the resourceVersion, the scopes, the
//	         tombstones and the order of the log. It is held for a piece or O(scopes), and for the
//	         keys that a change releases. Only Config.Now and the function of RemovePendingScopes
//	         run under it.
//
// In comments, both locks are writer and mu, and a lock of the store is either of these. What both
// guard is written under both, and may be read under either. Get takes no lock, except briefly to
// report a value that it cannot decode. Reads of several objects share a Snapshot until the next
// write; the first one after it takes mu for O(1). Reads of versions and of an entry's metadata
// take mu.
//
// # Invariants
//
//   - A change is in the maps before it is in the log, and mu is held until both are done. A
//     snapshot and a cursor taken together under mu show each change exactly once.
//   - A snapshot shows all of the list of a whole collection or none. It may show a part of that
//     of a scope.
//   - A list keeps the entry of an object whose UID and version are the store's, and does not
//     decode the item, unless CompareContents or EmitUnchanged is set. CompareContents keeps it if
//     the contents are equal, or one write has made both states (package history).
//   - Each index has a key under exactly the values that its entry records, and the set of a scope
//     has exactly the keys whose entries record it. An index has no value without keys.
package store
