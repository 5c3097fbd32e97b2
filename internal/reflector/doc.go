// Package reflector keeps a sink equal to a collection of the API: it lists,
// watches from the list's resourceVersion, and decides what to do when either
// fails. It owns the list, the watch, the resourceVersion and the retries, and
// nothing else; it cannot tell one kind of source from another.
//
// # What it promises
//
//   - Only whole lists are committed, and only those that say their version.
//   - The version it resumes from never goes back, except to that of a
//     consistent read (resourceVersion ""), as after an etcd restored from backup.
//   - An event older than what was seen is dropped, and its stream with it.
//   - A broken watch is resumed where it stood. It leads to a relist when the
//     version is gone (410), in doubt (streams that end at once, events out of
//     order), or still fails at the same place.
//   - Every retry waits: at least its jittered exponential backoff, at least the
//     server's Retry-After. No path loops without waiting.
//   - A watch that is silent beyond its deadline is given up.
//
// The way through one run:
//
//	        ┌────────── wait ◀───────────┐
//	        ▼                            │ relist
//	list or WatchList ──▶ watch ──▶ judge the end
//	                        ▲            │ resume
//	                        └── wait ◀───┘
package reflector
