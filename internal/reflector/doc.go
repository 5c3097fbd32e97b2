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
// # When a request follows
//
// A request that follows a success needs no delay: a watch after a list, or after a watch that
// lived as long as the reflector asked for. Nor does a fallback: a list after a WatchList, or a
// consistent read after a list whose resourceVersion the server refused. Three more follow soon:
//
//   - A list after a watch that cannot be resumed follows at once, unless there was another failure
//     or list within two minutes.
//   - A list after a 410 that ends an outage follows after a random delay of at most 200 ms.
//   - A watch that was open and ended early is resumed after a random delay of at most 100 ms. If
//     it brought nothing within a second, or ended with an error, that holds for the first one at
//     its resourceVersion; a broken connection of a watch that lasted longer is no such error.
//
// Every other request waits for the jittered exponential backoff, which starts again after two
// minutes of success, and when an outage ends: connections have failed, and the server then answers
// with a 410, a complete list, or a watch that brings something or lasts for a second. A 429 or 5xx
// may come from a balancer, and ends no outage. Without one, the first 410 does not make the delays
// grow.
//
// A watch whose connection failed waits no longer than this, and up to twice as long at random.
// Such watches leave two tokens in the bucket, for the requests that follow the outage.
//
//	the connection                             delay
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	was not made, such as refused              1 s, or a quarter of the outage
//	was accepted and then broken, as by a      1 s, or half of the outage, up to 2.5 s; or a
//	balancer without a server                  twenty-fourth of the outage
//
// In addition, each request waits
//
//   - for the server's Retry-After;
//   - for a token of the bucket that all watches, probes and lists share (served.Budget): 10
//     tokens, and one more every 5 s, so that there are at most 22 requests in any minute, and 12 a
//     minute in the long run. Further pages of a list cost no token if they have new objects, or
//     are one of up to 100 empty ones in a row;
//   - if it is a list, until a minute has passed since the fourth-last list that the server
//     answered completely. The initial list is not counted, nor are refused ones.
//
// The last two do not apply to a fake of client-go, nor, between failed attempts, if Config.Backoff
// is set. That takes the place of the table, too, and also delays a watch after an open one that
// failed other than by its connection, and the request after a WatchList whose connection failed.
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
// # A collection that is not served
//
// Config.Served has what package follow knows of the resource, a served.Verdict. While that says
// that the resource is absent, or there is none yet, the reflector is in the phase NotServed and
// makes no requests: the context of each list and watch ends with the verdict (awaitServed). If
// Config.Store has a state, also that of another reflector's scope, it makes one request before it
// enters the phase:
//
//	that request           is followed by
//	─────────────────────  ──────────────────────────────────────────────────────────────
//	failed with 404        Clearable.Clear, and the phase NotServed
//	succeeded              the same request, after 0.1, 0.2 and 0.4 s, and then a list, as the
//	                       server lags. When that or its watch fails, again
//	failed with another    the same request, after the backoff; the store has the last good
//	error                  state
//
// The reflectors of an informer's scopes share the store. Each clears it, as one may be removed
// before the others. That of a scope that was not listed has no objects to lose, and does as the
// others do. A call that comes after the verdict has changed, or after another reflector has listed
// a scope, does nothing: Clear decides so under the lock under which lists are committed. A
// reflector that watches all the same, as requests have proved the opposite, lists again before its
// next watch if another one has cleared the store (feed.Sink.NeedsList).
//
// The requests of a collection that is served again have what is left of the bucket, and count with
// the lists before. The first five that fail with a 404 in a row are repeated after 0.1, 0.2, 0.4,
// 0.8 and 1.6 s, and not reported: a server may be the last one to serve the resource, or to say
// that it no longer does. That does not hold for a verdict of served.Unknown, nor without
// Config.Served.
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
// The first watch after an open one failed follows soon, as above, unless the server was busy or
// refused the client, or Config.Backoff is set. The others follow after a backoff, as does a watch
// after the second that the server closed within 1 s.
//
// # The server's history
//
// A resumed watch starts before the last changes received, and the server must first repeat them.
// The table of package history says what follows if it does not: a watch from the version reached,
// a question (sessionProof.ask), a consistent read at once (ErrHistoryChanged) or a list later
// (errUnconfirmed). Repeated events are neither applied nor counted. The events that follow are
// those of a normal watch. Where Config.Overlaps says no, such as for clientgo without streaming,
// watches start at the version reached, and nothing is asked. So they do once two starts in a row
// were refused or cut short, and then there is a question at most every five minutes.
//
// After a list, a watch starts at the list's version. A list that follows a 410 is not committed if
// it has a version of an object that another write had made (errVersionReused); a consistent read
// follows, which compares contents. If two lists in a row that evidence has caused show no
// difference, the server is assumed not to repeat its history: watches start at the version reached
// until a list with another cause. A fake of client-go has no history.
//
// A stream that replaces others confirms the history by a list if that of one is in doubt
// (ConfirmHistory). Once their Run has returned, its lists are compared with what they have
// received, too (Inherit).
//
// # How another request ended, and what comes next
//
//	the WatchList                              next request
//	─────────────────────────────────────────  ───────────────────────────────────────────
//	delivered the whole initial state          as for a watch, above
//	failed with 429, or its connection was     WatchList
//	refused and Config.Backoff is set
//	was closed before the initial state ended  WatchList; 2nd: list, and no WatchList again
//	had no initial event for 30 s, or for 2 s  list, and no WatchList again
//	from a fake of client-go
//	failed with 400, 405, 406 or 422           list, and no WatchList again
//	was the first one, and refused by the      list, and no WatchList again
//	source's own function
//	failed with errVersionReused               consistent read by a list
//	failed with anything else                  list
//
//	the probe before the first list            next request
//	─────────────────────────────────────────  ───────────────────────────────────────────
//	had a version                              list not older than that version
//	had no version that can be compared        list of the most recent state
//	had more objects and no continue token:    none, it is the first list (streaming, and no
//	the limit was ignored                      selector); otherwise as above
//	failed with 429, 5xx, a connection error   probe, after the backoff
//	or without an answer for 30 s
//	failed with anything else, such as 403     list of the most recent state
//
//	the list failed with                       next request
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	410 for a continue token                   at once, the most recent state in pages; 2nd: at once,
//	                                           the same list in one piece
//	400 or 422, with resourceVersionMatch      at once, the same list in one piece, without it
//	410, 504 "Too large resource version" or   consistent read, at once
//	ErrVersionRegressed
//	errVersionReused                           consistent read, at once
//	401, 403, 429, 503, 504, a connection      the same list or WatchList
//	error or ErrStalled
//	anything else, such as 500, or a list      the same list or WatchList; 6th: consistent read
//	whose pages do not end
package reflector
