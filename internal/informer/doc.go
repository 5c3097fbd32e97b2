// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package informer connects the stages of an informer: a reflector feeds a store, and the
// store's log feeds handlers. It knows objects as any: the typed API and the client-go adapter
// are thin layers on one engine; see package engine.
//
//	source ──▶ reflector ──▶ store.Feed ──▶ store ──▶ log ──▶ cursor ──▶ handler
//
// A [Handler] may be added and removed at any time. It has one goroutine, which makes one call
// at a time, and a cursor of its own: it reads the log in small batches, at its own pace. A
// handler that is added while the informer runs receives a snapshot first, and then every later
// change in the log. Unless the source is known to be a server, the initialGate holds the initial
// list back until the first watch is open: the informer has not synced, and handlers do not receive
// the list.
//
// In place of the reflector, an informer with scopes has a [scoped.Loop], which runs several.
//
// StatusChanged wakes goroutines that wait for a condition of the status. Whatever changes one of
// the conditions that its comment names signals the broadcast afterwards; see Config.Changed of
// package reflector.
//
// Package clientgo, which cannot set the fields of cache's types, describes its informers by an
// [Adapted].
//
// # Slow handlers
//
// A cursor keeps the events it has not read in memory. To bound that memory, the log wakes the
// informer's backlog compactor, one goroutine for all handlers, when a cursor has fallen far
// behind. The compactor reads the log for that handler and coalesces changes by key:
//
//	          ┌ delivered first ┐          ┌ delivered last ┐
//	callback ◀── batch ◀── backlog ◀── partialBatch ◀── cursor ──▶ log
//	             up to 32  coalesced,  rest of a log
//	             changes   by key      batch
//
// The handler's goroutine and the compactor each hold the handler's lock for a few events only,
// and never during a callback. The backlog of a handler that keeps up is empty.
//
// # Coalescing
//
// Two consecutive changes of one key are coalesced as follows:
//
//	first    then Update                              then Delete      then Add
//	Update   an Update from the first's Old           a Delete         -
//	Add      an Add; both are delivered if the        both delivered   -
//	         update sets deletionTimestamp
//	Delete   -                                        a Delete; both   both delivered
//	                                                  if the UIDs
//	                                                  differ
//
// So a level-based handler always receives the latest state, an object that was created and
// deleted is still delivered, and an object with another UID is a different object. The second of
// two deletions is one of an object that was not stored; see store.Config.EmitUnstoredDeletions.
package informer
