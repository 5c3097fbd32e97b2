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
// [Options].UseClientGo is the way back at run time: with it, the constructors return client-go's
// informers.
//
// [StatusOf] and [ControllerOf] add what client-go's interfaces lack: the status of an informer,
// a health check, and waits for a written object. A cache.ConsistencyStore takes the result of
// ControllerOf, so that a program does not act on a cache that lacks its own writes. [Views] and
// [Options].Group are for packages metrics and debug.
//
// An informer streams, that is, it reads lists and watches straight from the response. Those of
// factories, of [Generated], and of dynamic and metadata clients do so by themselves: they use a
// copy of the client, whose requests pass through the program's transport, rate limiter and warning
// handler. The program's client is not changed. Other informers stream if cache.EnableStreaming has
// prepared the client's config and the list and watch functions are known to return the response
// unchanged; see [Options].Streaming. Otherwise, and with [Options].DisableStreaming, the client
// decodes lists and watches, as it does for client-go's informers.
//
// # Transforms
//
// A transform may return an error that wraps cache.ErrSkip to ignore a state of an object. The
// store then keeps the state that it has, or none, and there is no event and no error. If the
// transform ignores the final state of a deleted object, the deletion is delivered all the same, as
// a DeletedFinalStateUnknown with the last stored state.
//
// # Differences from client-go
//
// The documented contract of client-go holds; docs/contract.md names its tests. A program may
// notice the following differences.
//
// Events:
//
//   - A relist emits no update for an unchanged object, and calls neither the transform nor index
//     functions for it, unless [Options].RelistUpdates is set.
//   - An object that was deleted and recreated under the same name is delivered as a deletion and
//     an addition, not as an update.
//   - client-go calls OnDelete for each DELETED event, also of an object that the informer does not
//     hold. For such an event, an informer of this package does not call OnDelete if it has
//     [Options].Scopes, if [Options].Filter or cache.ErrSkip refuses the state at deletion, if the
//     object's last state could not be stored, or if the informer had reached the event's version
//     before.
//   - Where the client decodes, an event with the version of the stored object is an update only if
//     its content differs. While the informer streams, it changes nothing. An event that is older
//     than an earlier one ends the watch. The fakes of client-go are an exception: events of a
//     watch.FakeWatcher or RaceFreeFakeWatcher are applied in order, whatever their versions. One
//     without a version does not change LastSyncResourceVersion.
//   - Where the client decodes and is not known to be a server's, the informer and the
//     registrations have synced, and handlers receive the initial list, once the list is stored and
//     the first watch function has returned or failed, at the latest 1 s after the list. A program
//     that writes then loses nothing on a fake, which does not send earlier changes. A server is
//     known by its response to the list, if the list function passes its context on. Reads of the
//     store do not wait, and neither does a WatchList.
//   - Objects that the program itself writes to an informer's store are delivered to handlers, and
//     the next list replaces them. The changes of a Transaction become visible one by one.
//   - The resync period of a handler does not depend on those of other handlers, and may be shorter
//     than the informer's.
//   - A FilteringResourceEventHandler receives the deletion of an object if it has received the
//     object, whatever its FilterFunc makes of the final state.
//
// Streaming:
//
//   - While an informer streams, it decodes objects itself. They equal those that the client would
//     have decoded.
//   - Lists and watches of types with protobuf methods are requested as protobuf, if the client
//     accepts that or the program has asked for streaming, and none as CBOR. A transport of the
//     program sees these requests, and their responses as the server sent them. client-go's metric
//     of the size of responses has that of a placeholder.
//   - A client whose codec sets defaults or converts objects is not copied. It decodes the objects.
//   - The client does not repeat a request that was refused with a Retry-After, or whose connection
//     broke: the informer does, within its limits.
//   - A list that an informer of a factory cannot split into objects is requested again, and
//     decoded by the client. If that succeeds, the client decodes all later ones as well. A line in
//     the log and Status.Requests.NotStreamingReason have the reason. If the program has called
//     EnableStreaming or set Options.Streaming, such a list is an error.
//   - A list is read no faster than its objects are decoded and stored, so that it is never in
//     memory as a whole. After 10 s, or half of the Timeout of the program's http.Client if that
//     is less, the rest of it is read at once, since servers and clients bound the time that a
//     response takes. If the program has asked for streaming, there is no such limit.
//   - Equal strings and equal managedFields of objects are stored once.
//
// Objects that cannot be stored:
//
//   - While an informer streams, an object that cannot be decoded is an error on that object alone.
//     Otherwise, the client refuses the whole list as for client-go: the informer does not sync,
//     and the watch error handler receives the error of the client's decoder.
//   - An object that cannot be transformed or, while the informer streams, decoded is logged, and
//     its last good state is kept. If it never had one, Get and GetByKey of the store return an
//     error that wraps cache.ErrNotStored, which generated listers and controller-runtime pass on
//     instead of NotFound. Lists leave the object out. In client-go, an error of a transform fails
//     the list.
//   - With Options.Scopes, Get and GetByKey return an error that wraps cache.ErrNoScope for an
//     object of which the scopes do not tell whether it exists. It is not NotFound.
//   - While an informer streams, an object of a list that has no name is an error on that object
//     alone. One that the client has decoded, such as a fake clientset's, is stored under the key
//     "namespace/" or "", as in client-go.
//   - An object of another type than the example's is not stored, and a list of such objects alone
//     fails. An event of one is passed over, as in client-go, and a list follows the watch.
//     client-go stores the list's objects.
//   - An example of the program's own type that embeds unstructured.Unstructured needs a client
//     that streams: the objects are of that type then. The dynamic client itself decodes
//     *unstructured.Unstructured, which is another type.
//   - An object whose index function fails is stored without an entry in that index. In client-go,
//     the error ends the process.
//
// Requests and Run:
//
//   - Run stops the open watch and reads its events until the watch closes its channel, or for half
//     a second: some producers block on an unread event. client-go does not read them.
//   - Run returns while a list or watch function blocks, and after 10 s while a watch error handler
//     blocks. The goroutine of the function ends when the function returns. client-go waits for a
//     watch function. A second Run of a Controller returns at once; client-go's lists again.
//   - A WatchList (streaming list, KEP-3157) that does not complete the initial state is given up,
//     and the collection is listed: after 2 s without an event from a fake clientset, after 30 s
//     without an initial event from a server, or when the stream has ended early twice. client-go
//     waits forever.
//   - A relist in pages sets resourceVersionMatch=NotOlderThan. client-go does not, so that the
//     server looks for exactly the requested version, which may have expired. If a continue token
//     expires, the informer requests pages of the most recent state, and if that fails too, the
//     list in one piece.
//   - An informer may send 10 requests at once, and one more every 5 s. After the initial list, at
//     most 4 lists of an informer are answered in any minute. With [Options].Scopes, both limits
//     hold for each watch and its lists. Neither holds for a fake of client-go. A Backoff in the
//     options of a [Reflector] replaces both between failed attempts. A Backoff with Steps and
//     without a Duration, which in client-go retries without a pause, is an error of Run.
//   - If a watch cannot be resumed, the informer lists at once, unless in the last two minutes it
//     has listed and a request has failed. After an outage, in which connections have failed, it
//     lists within 0.2 s. client-go waits for its backoff. The informer obeys the server's
//     Retry-After; client-go leaves that to the client.
//   - While an informer streams, a resumed watch starts before the last changes received. If the
//     server does not repeat them, etcd was restored from a backup or the server lost events, and
//     the informer lists again. It notices this also if the new history is already past the version
//     that it had reached. An informer that does not stream does not notice such a restore, and
//     neither does client-go.
//   - The error of a factory's wait for a sync wraps the context's cause and the last error of each
//     informer that has not synced. In client-go it is the context's cause.
//   - A [Reflector] does not list again because of an error of its store's Resync. client-go
//     applies the transform of a TransformingStore only to a WatchList.
//
// Logs and metrics:
//
//   - Errors are logged with the logger of Run's context, the same error on an object at most once
//     in five minutes. Of each kind of error on objects, the first ten are logged one by one, and
//     the others in one line a minute, until there was none for five minutes. An error of requests
//     that several informers have at the same time is one line a minute with their number, and
//     client-go logs each. Errors are not passed to utilruntime.HandleError, whose rate limit
//     blocks its caller.
//   - The metrics of client-go count watch events, but not the objects of a list. There is no
//     queue: the metric of its length is 0 or 1.
//
// The environment variable KUBE_CACHE_MUTATION_DETECTOR has the same effect as in client-go, and
// none with [Options].Packed. The package supports client-go v0.36, which go.mod requires, and
// v0.37.
package clientgo
