// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package snapmap is the map of kinformer's store: one writer, lock-free readers, and snapshots in
// O(1). Writes are in place until the next snapshot.
//
// A store keeps its entries in a [Map] and each index in a Map of [Set], all with the same
// [Generation]. A snapshot is a [View] of each, followed by one Advance.
//
// # Layout
//
// Two levels of extendible hashing lead to pages of up to 32 entries:
//
//	Map ──► root ──► segment ──► page
//	        segs     pages       tags   8 bits of each entry's hash
//	        2^k      2^j ≤ 256   slots  value, key
//	        │        │           metas  metadata of each entry
//	        hash     the next    │
//	        bits     j bits of   the highest bits of the hash
//	        0..k     the hash
//
// Several pointers of the root lead to the same segment if its depth is less than k bits; the same
// holds for pages in a segment. A full page splits by one more bit. If its segment has no pointer
// for each half, the segment doubles; a segment of 256 pointers splits instead, for which the root
// may double. A directory does not double while less than a quarter of its pointers are distinct,
// which means that hashes collide; the page grows instead. Pages are allocated in steps, so they
// are mostly full. A page is rewritten when half of its slots are dead, and the whole map is
// rebuilt when an eighth of its entries is left.
//
// A map that replaces another one begins with its layout, and with pages that have room for its
// entries (NewMapLike), so that it grows only where it has other keys. The layout of a map with few
// entries a page is not taken over.
//
// # Snapshots
//
// Root, segments and pages carry the generation in which they were created. The writer modifies
// those of the current generation in place. Older ones belong to views: the writer copies them,
// root first, and modifies the copy. A View therefore is a pointer to a root, and a write after a
// snapshot copies one path: a root of about n/5000 pointers, a segment and a page.
//
// # Concurrency
//
// The caller serializes all writes, View and Advance. Readers run at any time. They see only
// atomics, and memory that was complete when an atomic led to it:
//
//   - The root, the pointers of the directory, tags and values are atomics. The rest of a structure
//     is written before a pointer of the directory leads to it.
//   - A slot is filled before its tag is published, and its key never changes while the page lives.
//     Deleting an entry clears its value and marks its tag dead; the slot is reused only in a copy
//     of the page. A reader that has seen the tag may therefore compare the key, and never gets
//     the value of another key.
//   - Metas are not atomics. In a page of the current generation only the writer reads them; Get
//     does not need them.
//   - A page that was replaced (copied, rewritten or split) is not written any more. A reader that
//     still holds it sees the state at the time of its lookup.
//   - Each Get starts at the root, so a reader that has seen a write keeps seeing it.
//
// Gets on the live Map may see one of two writes without the other. Only a View shows several keys
// at one moment.
package snapmap
