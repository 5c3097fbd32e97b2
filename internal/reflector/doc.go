// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package reflector keeps a sink equal to a collection of the Kubernetes API. A Reflector lists the
// collection, watches from the list's resourceVersion, and decides what to request next when a list
// or watch ends. It does not depend on the type of the objects.
//
// The rules for resourceVersions, lists and watches are those of the API concepts,
// https://kubernetes.io/docs/reference/using-api/api-concepts/. Streaming lists are those of
// KEP-3157, https://kep.k8s.io/3157; this package calls them WatchList, after the feature gate.
//
// # Guarantees
//
//   - Only complete lists are committed to the sink and, once a resourceVersion has been reached,
//     only those with one.
//   - The resourceVersion reached never decreases, except to that of a consistent read
//     (resourceVersion unset), as after a restore of etcd from a backup.
//   - An event older than an earlier one ends its watch, unless the sink holds it already.
//   - A watch is resumed from the last resourceVersion received unless the table below says
//     otherwise.
//   - A watch that lived as long as the reflector asked for is followed by another at once. One
//     that ended earlier is resumed after a random delay of at most 100 ms, unless it failed as
//     often as the table below says. A list after a watch that cannot be resumed follows at once,
//     unless there was another failure or list within two minutes.
//   - Every other retry waits at least for the jittered exponential backoff, and every retry for
//     the server's Retry-After. A fallback needs no delay: a list after a WatchList, and a
//     consistent read after a list whose resourceVersion the server refused.
//   - All watches, probes and lists together are at most 12 requests in any minute (requestBudget).
//     Further pages of a list are not counted as long as they have new objects, nor is the
//     first WatchList if the source's own function refused it, as a fake's does.
//   - A list or watch that receives nothing for longer than its idle timeout is cancelled. A probe
//     has a deadline.
//
// # One cycle
//
//	       ┌──────────── wait ◀────────────┐
//	       ▼                               │ list again
//	list or WatchList ──▶ watch ──▶ how did it end?
//	                        ▲              │ resume
//	                        └──── wait ◀───┘
//
// # How the watch ended, and what comes next
//
// "List" is a list not older than the resourceVersion reached (stateRelisting). "Consistent read"
// is a list without a resourceVersion, which the server answers with the most recent state
// (stateConsistentRead). "Watch" continues from the resourceVersion reached (stateResuming). "Nth"
// counts the watches since the resourceVersion last advanced.
//
//	the server closed the watch, and           next request
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	objects are quarantined and due for retry  list (ErrQuarantined)
//	resourceVersion reached is unset or "0"    list (ErrNoVersion)
//	the resourceVersion advanced               watch
//	nothing was received within 1 s            watch; 3rd: list (ErrShortWatches)
//	nothing was received before its timeout    watch; 3rd: watch after a probe, or consistent read
//	                                           if the server regressed (ErrVersionRegressed)
//	nothing was received                       watch
//
//	the watch failed with                      next request
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	410 Gone, reason Expired or Gone           list
//	any error, resourceVersion unset or "0"    list
//	a bookmark older than the version reached  watch after a probe, or consistent read if the
//	                                           server regressed, at most one in ten minutes
//	ErrVersionRegressed, of a probe            consistent read
//	504 "Too large resource version"           watch; 5th: consistent read
//	401 or 403                                 watch
//	429, 503, 504 or another timeout           watch
//	a connection error or ErrStalled           watch
//	another 5xx                                watch; 5th: list
//	anything else, such as a malformed event   watch; 2nd: list
//
// The first watch after an open one failed follows soon, as above, unless the server was busy or
// refused the client. The others follow after a backoff.
//
//	the WatchList                              next request
//	─────────────────────────────────────────  ───────────────────────────────────────────
//	delivered the whole initial state          as for a watch, above
//	failed with 429                            WatchList
//	was closed before the initial state ended  WatchList; 2nd: list, and no WatchList again
//	had no initial event for 30 s, or for 2 s  list, and no WatchList again
//	if it is that of a client-go fake
//	failed with 400, 405, 406 or 422           list, and no WatchList again
//	was the first one, and refused by the      list, and no WatchList again
//	source's own function
//	failed with anything else                  list
//
//	the list failed with                       next request
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	410 for a continue token                   the same list from its first page; 3rd: without pages
//	410, 504 "Too large resource version" or   consistent read, at once
//	ErrVersionRegressed
//	401, 403, 429, 503, 504, a connection      the same list or WatchList
//	error or ErrStalled
//	anything else, such as 500, or a list      the same list or WatchList; 6th: consistent read
//	whose pages do not end
package reflector
