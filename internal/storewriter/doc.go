// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package storewriter writes what a reflector receives to a store that belongs to the program: it
// is the feed.Sink of cache.Reflector and clientgo.Reflector. The informers' own sink is package
// store.
//
//	reflector ──Item──▶ Sink ────────▶ Add, Update, Delete      a watch event
//	                    Replacement ─▶ Replace                  a complete list
//
// A [Sink] decodes each item and keeps nothing but the failures: the keys whose newest state could
// not be stored. The store keeps the last good state of such an object, also over a list. It does
// not keep the state of a predecessor, an object of the same key and another UID, which was
// deleted.
//
// cache and clientgo differ in Config.Compare: cache's stores receive only changes, in the order
// of their versions; client-go's receive every event.
package storewriter
