// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package clientgo implements the informer interfaces of client-go's tools/cache with this module's
// informers, for existing programs. A program changes one of these:
//
//   - An import. Packages cache, informers, dynamicinformer and metadatainformer below this one
//     have the exported names of client-go's packages.
//   - A variable. [With] returns client-go's constructors with [Options], for example to store
//     objects as bytes.
//   - A call. [Generated] takes the factory of a generated clientset, [Adopt] takes an informer of
//     client-go, and [Options.NewInformer] is an option of controller-runtime's cache.
//
// docs/adopting.md shows the line before and after for each way in which programs make informers.
//
// [StatusOf] and [ControllerOf] add what client-go's interfaces lack: the condition of an informer,
// a health check, and waits for a written object. [Views] and [Options].Group are for packages
// metrics and debug.
//
// An informer streams, that is, reads lists and watches straight from the response, if
// cache.EnableStreaming has prepared the client's config and the list and watch functions are known
// to return the response unchanged; see [Options].Streaming.
//
// # Transforms
//
// A transform may return an error that wraps cache.ErrSkip, to ignore a state of an object: the
// store keeps the state that it has, or none, without an event or an error. A deletion is delivered
// as a DeletedFinalStateUnknown with the last stored state.
//
// # Differences from client-go
//
// The documented contract of client-go holds; docs/contract.md names its tests. A program may notice
// the following differences.
//
// Events:
//
//   - A relist emits no update for an unchanged object, and calls neither the transform nor index
//     functions for it, unless [Options].RelistUpdates is set.
//   - An object that was deleted and recreated under the same name is a deletion and an addition,
//     not an update.
//   - A DELETED event of an object that the informer does not hold calls OnDelete unless
//     [Options].Filter or cache.ErrSkip refuses the state at deletion, the informer has
//     [Options].Scopes, the object's last state could not be stored, or the event's version was
//     reached before. client-go calls it each time.
//   - An event with the stored version that the client has decoded is an update only if its content
//     differs, and an event older than an earlier one ends the watch. The fakes of client-go are
//     excepted: events of a watch.FakeWatcher or RaceFreeFakeWatcher are applied in order, whatever
//     their versions. One without a version leaves LastSyncResourceVersion at the last one.
//   - Where the client decodes, handlers receive the initial list once the first watch function has
//     returned or failed, at the latest 1 s after the list. HasSynced of the informer does not wait.
//   - Objects that the program itself writes to an informer's store are delivered to handlers, and
//     the next list replaces them. The changes of a Transaction become visible one by one.
//   - The resync period of a handler does not depend on those of other handlers, and may be shorter
//     than the informer's.
//   - A FilteringResourceEventHandler receives the deletion of an object if it has received the
//     object, whatever its FilterFunc makes of the final state.
//   - The handler of a Controller does not block its store, which may contain later changes than the
//     one delivered.
//
// Objects that cannot be stored:
//
//   - While an informer streams, an object that cannot be decoded is an error on that object alone.
//     Otherwise, the client refuses the whole list as for client-go: the informer does not sync,
//     and the watch error handler receives the error of the client's decoder.
//   - An object that cannot be decoded or transformed is reported, and its last good state is kept.
//     If it never had one, Get and GetByKey of the store return an error that wraps
//     cache.ErrNotStored, which generated listers and controller-runtime pass on instead of
//     NotFound. Lists leave the object out. In client-go, an error of a transform fails the list.
//   - With Options.Scopes, Get and GetByKey return an error that wraps cache.ErrNoScope for an object
//     that no listed scope may hold, by its namespace or name. It is not NotFound.
//   - While an informer streams, an object of a list that has no name is an error on that object
//     alone. One that the client has decoded, such as a fake clientset's, is stored under the key
//     "namespace/" or "", as in client-go.
//   - A list with an object of another type than the example's fails, and an event of such an
//     object ends the watch. client-go stores the list's objects, and skips the event.
//   - An object whose index function fails is stored without an entry in that index. In client-go,
//     the error ends the process.
//
// Requests and Run:
//
//   - Run returns even while a list or watch function, or a watch error handler, blocks. The
//     goroutine of the function ends when the function returns. client-go waits for a watch
//     function. A second Run of a Controller returns at once; client-go's lists again.
//   - A WatchList (streaming list, KEP-3157) that does not complete the initial state is given up,
//     and the collection is listed: after 2 s without an event from a fake clientset, after 30 s
//     without an initial event from a server, or when the stream has ended early twice. client-go
//     waits forever.
//   - The first list is client-go's. [Options] has Start, to make it not older than the server's most
//     recent state.
//   - A relist that asks for pages has resourceVersionMatch=NotOlderThan, and so has not the state at
//     exactly the version that has expired. After a continue token has expired, pages of the most
//     recent state are requested before the list in one piece.
//   - An informer's requests share a budget of 10 and one more every 5 s, and the server answers at
//     most 4 lists in any minute after the initial one. A Backoff in the options of a [Reflector]
//     replaces both between failed attempts; one with Steps and without a Duration, which in
//     client-go retries without a pause, is an error of Run.
//   - The list after a watch that cannot be resumed follows at once, the first time in two minutes.
//     client-go waits for its backoff. The server's Retry-After is obeyed, which client-go leaves to
//     the client.
//   - While an informer streams, a resumed watch starts before the last changes received, which the
//     server must repeat, so that a restore of etcd is detected also if the new history has overtaken
//     the version reached. Otherwise, as in client-go, such a restore is not noticed.
//   - The error of a factory's wait for a sync wraps the context's cause and the last error of each
//     informer that has not synced. In client-go it is the context's cause.
//   - A [Reflector] logs an error of its store's Resync, and does not list again because of it. It
//     applies the transform of a TransformingStore to every list, client-go only to a WatchList. It
//     does not run twice at a time. While it streams, an object that cannot be decoded keeps its
//     state in a store that has GetByKey, and is left out of a list otherwise.
//
// Logs and metrics:
//
//   - Errors are logged with the informer's logger, an error on an object once in five minutes,
//     and the first ten objects of each kind of error, then one line a minute. They are not passed
//     to utilruntime.HandleError, whose rate limit blocks its caller.
//   - The metrics of client-go count watch events, but not the objects of a list. The length of the
//     queue, which does not exist, is at most one.
//
// The environment variable KUBE_CACHE_MUTATION_DETECTOR has the same effect as in client-go. The
// package supports client-go v0.36, the oldest version in go.mod, and v0.37.
package clientgo
