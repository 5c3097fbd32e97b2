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
// A Feed is the way in: a reflector passes it the lists and events of the whole collection, or of
// some of its scopes. Put, Remove and Replace are the program's own writes.
//
// A [Scope] is a part of the collection that is listed and watched on its own. Its doc has the rules
// by which states of one key from several scopes are ordered.
//
// # Concurrency
//
// A Store has two locks, which are taken in this order:
//
//	writer  serializes writes. A write holds it from reading the old state until the new state is
//	        published. User functions (decode, transform, index) may run under it; they may read the
//	        store but must not write to it. Errors are reported after its release.
//	mu      guards the published state: the maps, the indexes, the resourceVersion and the order
//	        of the log. A writer holds it to publish a change or to swap in a whole state, and
//	        Snapshot holds it to copy the roots of the maps. No user function runs under it. It is
//	        held for O(1), but for two operations on a scope, which hold both locks for 1 to 2 µs
//	        for each of its objects: the commit of its list, and its removal.
//
// The quarantine has a lock of its own, which may be taken under both and takes no other.
//
// The hot set, which keeps recently decoded objects, has one, too. A read takes it after it has
// decoded an object; a writer only tries to.
//
// Get of a value that need not be decoded takes no lock. All other reads use a Snapshot, which all
// readers share until the next write. The first snapshot after a write takes mu for O(1).
//
// # Invariants
//
//   - A change is published in the maps before it is appended to the log, and mu is held until
//     both are done. A snapshot and a cursor taken together under mu therefore show each change
//     exactly once: either in the snapshot or at the cursor.
//   - A replacement of the whole collection is swapped in under mu, and one of scopes is merged into
//     the live maps under both locks. A snapshot shows all of it or none.
//   - A replacement keeps the entry of an object whose UID and version are the store's, without
//     decoding the item. Before Commit it compares the contents of the newest eight of them, and
//     fails if one differs: a restored server has used the version again, and any other entry may
//     differ, too. The list is then repeated with CompareContents.
//   - Each key is in an index under exactly the values that its entry records. An index has no
//     value without keys.
//   - A key is quarantined from the time its newest state cannot be stored or read until a later
//     state is stored, the object is deleted, or a replacement resolves it.
package store
