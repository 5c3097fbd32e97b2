// Package store keeps a collection of objects under keys, with indexes,
// immutable snapshots and a log of changes.
//
// It is generic over any Go value: what it has to know about the values it
// learns from its Config. An entry holds a value, or bytes that a Packer turns
// into one when somebody looks, and remembers its own identity and index values,
// so that neither a transform that drops fields nor a caller who writes into a
// cached object can confuse the bookkeeping.
//
// # Concurrency
//
// There are two locks, taken in this order:
//
//	writer  one write at a time, from reading the old state to publishing the
//	        new one. Functions of the user (decode, transform, index) run under
//	        it: they may read the store but not write to it.
//	mu      the state itself: a writer holds it while it changes maps, indexes,
//	        version and log, Snapshot while it captures their roots. Nobody
//	        runs foreign code under it and nobody holds it for longer than one
//	        change, or the swap of a whole state.
//
// Get takes no lock. Everything else that reads goes through a Snapshot, which is
// shared by all readers until the next write and takes mu for O(1) after one.
//
// A change is in the maps before it is in the log, and in both before mu is
// released: whoever holds a snapshot and a cursor taken together sees every
// change exactly once.
package store
