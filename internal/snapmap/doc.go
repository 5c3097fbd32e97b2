// Package snapmap is the map under kinformer's store: one writer, readers
// without locks, snapshots in O(1), writes in place until somebody takes one.
//
// A store keeps its entries in a [Map] and each index in a Map of [Set], all of
// one [Generation]. A snapshot is a [View] of each and then one Advance.
//
// # Layout
//
// Two levels of extendible hashing lead to pages of up to 32 entries:
//
//	Map ──► root ──► segment ──► page
//	        segs     pages       tags   8 bits of each entry's hash
//	        2^k      2^j ≤ 256   slots  value, key
//	        │        │           notes  what else there is to say of an entry
//	        hash     the next    │
//	        bits     j bits of   the highest bits of the hash
//	        0..k     the hash
//
// A segment that needs less than the root's k bits (its depth) stands in several
// places of the root, and so does a page in its segment. A full page splits by one
// more bit. If its segment has no place for the halves, the segment doubles, and
// from 256 places on is divided, for which the root doubles. A directory where
// less than a quarter of the places lead to different pages (hashes agree too
// much) does not double: then the page grows. Pages are allocated in steps and so
// are mostly full. Deletions rewrite a page half of which is dead; when only an
// eighth of the entries is left, the whole map is rebuilt.
//
// # Snapshots
//
// Root, segments and pages carry the generation that they were made in. The
// writer changes those of the current generation in place. An older one belongs
// to views: the writer copies it, root first, and changes the copy. So a View is
// nothing but a pointer to a root, and a write after a snapshot copies one path:
// about a root of n/5000 places, a segment and a page.
//
// # Concurrency
//
// The caller serialises all that writes, View and Advance. Readers run at any time
// and see only atomics, and memory that was complete when an atomic led to it:
//
//   - The root, the places of the directory, tags and values are atomics. The rest
//     of a structure is written before a place of the directory points to it.
//   - A slot is filled before its tag is published, and its key never changes in
//     the page's life. Deleting an entry clears its value and marks its tag dead;
//     the slot is used again only in a copy of the page. So a reader who saw the tag
//     may compare the key, and a value never belongs to another key.
//   - Notes are no atomics: only the writer reads those of a page that he may still
//     change. Get has no use for them.
//   - Where a page is replaced (copied, rewritten, split), the old one is not written
//     any more: who holds it sees the state when he looked it up.
//   - Each Get starts at the root, so whoever has seen a write keeps seeing it.
//
// Two writes may be seen one without the other by Gets on the live Map. Only a View
// shows several keys at one moment.
package snapmap
