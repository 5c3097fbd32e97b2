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
//   - Only complete lists are committed to the sink and, after one whose resourceVersion is a
//     number, only those with such a resourceVersion. Before, the collection is unordered: events
//     are compared with the stored state of the same object alone.
//   - The resourceVersion reached never decreases, except to that of a consistent read
//     (resourceVersion unset), as after a restore of etcd from a backup.
//   - An event older than an earlier one ends its watch, unless the sink holds it already. One at
//     the resourceVersion reached may be another change of that version.
//   - A watch is resumed from the last resourceVersion received unless the table below says
//     otherwise.
//   - An event that cannot be read is passed over. It may be a deletion, so that a list follows the
//     watch. Its version is not reached, and is compared only with that of a repeated change.
//   - A list or watch that receives nothing for longer than its idle timeout is cancelled, and so
//     is the probe before the first list. Other probes have a deadline. A watch of a fake of
//     client-go has no idle timeout.
//
// # One cycle
//
//	       ┌──────────── wait ◀────────────┐
//	       ▼                               │ list again
//	list or WatchList ──▶ watch ──▶ how did it end?
//	                        ▲              │ resume
//	                        └──── wait ◀───┘
//
// If Config.Start is set, a probe precedes the first list: a list of one object, without selectors
// (but see feed.RestrictProbe), for the version of the most recent state. The first list is then
// not older than that version. A server that ignores the limit answers with the whole collection.
// If that is split from the response, it is the first list, unless the probe lacks a selector. The
// reflectors of scopes share one probe, and those of one resource in a Factory share probes
// (Probes). Without Config.Start the first list is at resourceVersion "0", and may show any state.
//
// # How the watch ended, and what comes next
//
// "List" is a list not older than the resourceVersion reached (stateRelisting), in pages with
// resourceVersionMatch=NotOlderThan: without it, the server answers with the state at exactly that
// version, which may have expired for watches long before it has for lists. "Consistent read"
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
//	feed.ErrOutdated, of the sink              list, not older than Config.NotOlderThan
//	any error, resourceVersion unset or "0"    list
//	a bookmark older than the version reached  watch after a probe, or consistent read if the
//	                                           server regressed, at most one in ten minutes
//	ErrVersionRegressed, of a probe            consistent read
//	504 "Too large resource version"           watch; 5th: consistent read
//	401 or 403                                 watch
//	429, 503, 504 or another timeout           watch
//	a connection error or ErrStalled           watch
//	another 5xx                                watch; 5th: list
//	anything else, such as no events at all    watch; 2nd: list
//
// The first watch after an open one failed follows soon (backoff.go), unless the server was busy or
// refused the client, or Config.Backoff is set. The others follow after a backoff, as does a watch
// after the second that the server closed within 1 s.
//
// # Where the other rules stand
//
//	when a request follows                     backoff.go
//	how a list, a WatchList or a probe ended   Reflector.list, watchList, findStart
//	a collection that is not served            served.go
//	the server's history                       proof.go, and package history
package reflector
