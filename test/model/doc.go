// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package model tests whole informers, from outside, against a model of an API server. A program, a
// list of steps that a seed generates, writes to the server, lets requests fail, adds and removes
// handlers, lets time pass and stops the informer. The test checks the informer's store, its
// indexes and what the handlers received against the history of the model, from which the server's
// answers are computed as well: the two cannot disagree. In the comments, version means
// resourceVersion.
//
// # Files
//
//   - program_test.go has the program's types, generate_test.go draws one from a seed.
//   - world_test.go is the model: each version of the collection, in epochs that restores of etcd
//     separate. server_test.go, replica_test.go and stream_test.go answer requests from it, and
//     fault_test.go has what may go wrong with them.
//   - subject_test.go is the informer: of package cache, of package clientgo, or client-go's own.
//     The first, in typed_test.go, keeps Pods or some of their fields, as a cache.PartialObject.
//     functions_test.go and pods_test.go have the functions that it calls.
//   - execution_test.go runs the steps, with handlers_test.go, wait_test.go and stop_test.go.
//     rollback_test.go restores the server.
//     recorder_test.go is a handler, which checks each event. invariants_test.go and
//     goroutines_test.go check the rest.
//   - served_test.go has whether the server serves the resource, and the verdict that the informer
//     has.
//   - versions_test.go has the texts of versions, which may be larger than 2^63.
//   - scopes_*_test.go have random programs for an informer over scopes: scopes_program_test.go
//     draws one, scopes_sets_test.go says which sets of scopes are permitted, scopes_world_test.go
//     is the history, scopes_server_test.go, scopes_watch_test.go and scopes_http_test.go answer,
//     with the versions of scopes_versions_test.go, and scopes_lists_test.go remembers which lists
//     they sent. scopes_subject_test.go is the informer, of package cache, perhaps of some fields,
//     or clientgo, scopes_namespaces_test.go has the namespaces of NamespaceScopes,
//     scopes_writes_test.go the program's writes into the store, and scopes_served_test.go whether
//     the server serves the resource. scopes_test.go runs the steps, and scopes_recorder_test.go
//     checks each event.
//   - legal_test.go has random programs for servers that do what the API permits, however odd:
//     legal_server_test.go has empty pages, versions that are shared, missing or no numbers, and
//     items that cannot be read.
//   - shrink_test.go makes a failing program simpler. summary_test.go counts, and coverage_test.go
//     fails if a fault, operation, option or kind of handler is never met.
//
// A restored server assigns versions again. In some programs they pass the informer's before its
// next request: then the store may have states of both histories until the informer has noticed it,
// and must become equal to the server all the same. Where it cannot notice it, as when no change
// arrived since its last list, the versions stay below.
//
// Some programs read over HTTP, on connections inside the bubble, with faults of the bytes: that
// tests the client, the streaming and the decoding too.
//
// client-go's informer runs some of the programs as well. What it does differently is listed in
// differences_test.go.
//
// # Invariants
//
//   - store: it has one state of the server's history, except for states that cannot be stored. Of
//     an informer of some fields, a state is the projection of the whole object.
//   - version: it never goes back but to a restored server's. start: the first list of package
//     cache is not older than the server was when the informer was started.
//   - snapshot, held snapshot: a snapshot, also one taken during a write, is one such state, and
//     remains it.
//   - index: it is that of the stored objects. quarantine: Status has the states not stored.
//   - event: it may follow those before it. old state: it is the one delivered last.
//   - absence: while the resource is known not to be served, the store is empty, reads and waits
//     say why, and there are no requests. A 404 has confirmed it.
//   - fold: the events of an idle handler add up to the store, and it has synced. At the end, the
//     store is the server's (convergence).
//   - backlog: a flood that a handler missed costs it few events.
//   - wait: it returns once the store has the write, and when the informer stops.
//   - rate: at most 22 requests in any minute, and 130 in any ten minutes.
//   - second run: it is an error. stop: Run returns in time, and no call or request follows.
//   - goroutines: after Run they are inside functions of the program, and end with them.
//
// With scopes:
//
//   - set: a change is refused if two scopes may hold one key, unless their selectors are equal and
//     no UID is in both. A refused one changes nothing.
//   - count: each object in the store belongs to one scope.
//   - deletion, left scope: an object is deleted only if it was deleted or its scope does not
//     select it any more, or with LeftScope if its scope was removed or the filter refuses it. The
//     objects of a removed scope are deleted before the informer is at rest.
//   - write: a write into the store is accepted if one scope alone may hold the object.
//
// # Running
//
// Seeds and their number are flags; make stress sets them:
//
//	go -C test test -race ./model -v -model.seed=1 -model.programs=100000 -timeout 60m
//
// A failing program is shrunk, printed with a timeline, and written to a file for TestReplay. Those
// that found a bug are in testdata/seeds.json. The delays of the informer are seeded: a program
// without NoWait and with Procs 1 runs the same way each time. Others meet other orders of the
// goroutines, so saved programs run five times, and a report tries twenty times.
//
// TestScopesFollowModel has the flags of rapid instead:
//
//	go -C test test ./model -v -run TestScopesFollowModel -rapid.checks=100000 -rapid.seed=1
//
// So has TestLegalServersAreFollowed. They print a failing program as JSON, which TestReplayScopes
// and TestReplayLegal run again from the file of -model.program. Those of scopes that found a bug
// are in testdata/scopes.json. -model.large=false leaves out the large versions,
// -model.writes=false the writes into the store.
//
// # Adding to it
//
// An option of the informer, such as fields to omit, scopes or shards, is a field of options, a
// line in generator.options and one in newTyped or newAdapter. What the store then holds of a state
// is podOf, fieldsOf and intact in pods_test.go, and which states it holds differs in
// invariants_test.go. An operation is a constant, a case in generator.step and one in
// execution.step; a fault a constant in faultKinds and a line in server.List, answer or
// stream.misbehave. Coverage follows: a new field of options, and everything in operations and
// faultKinds, must be met in 5,000 programs.
package model
