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
// The documented contract of client-go holds; docs/contract.md names its tests. docs/adopting.md
// lists the differences that a program may notice. Those that a controller notices first: a relist
// emits no update for an unchanged object, unless [Options].RelistUpdates is set; an object that
// was deleted and recreated under the same name is delivered as a deletion and an addition; and an
// object whose transform fails, or that cannot be decoded while the informer streams, does not
// affect other objects.
//
// The package supports client-go v0.36, which go.mod requires, and v0.37.
package clientgo
