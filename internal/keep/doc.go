// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package keep decides what becomes of a state of an object that arrives at a store, by what the
// store has of its key. It is the only place that does, for events, deletions and lists. It knows
// no objects, versions or scopes: a [Case] says how the arrival relates to what is known, and the
// store carries out the [Verdict].
//
// An entry of the key is the arrival's own (it is in the same scope; in a store of a whole
// collection, any entry is), or another scope's: the name was recreated in another range of UIDs.
// The rules, of which the first that applies decides:
//
//	what arrives    what is known                                          verdict
//	──────────────  ─────────────────────────────────────────────────────  ─────────────────
//	missing         own entry                                              Remove
//	                anything else                                          Ignore
//	deletion        own entry, which is newer                              Ignore
//	                own entry                                              Remove
//	                no entry, a newer state that could not be stored       Ignore
//	                anything else, such as another scope's entry           Record
//	item of a list  own entry, of the same version                         Unchanged
//	                own entry                                              Store
//	event           own entry of the same object, of the same version      Unchanged, Compare
//	                own entry of the same object, which is newer           Ignore
//	item or event   a tombstone of a later version                         Ignore
//	                another scope's entry, which is newer and not undone   Ignore
//	                own entry of another object, which is newer            Ignore
//	                anything else                                          Store
//
// An entry of another scope is undone if that scope was not listed since a restore of the server,
// or if the list that arrives is not older than the entry; one that the program has written counts
// as undone. If the newest state of a key could not be stored, arrivals are compared with its
// version and not with the entry's, which may date from before a restore of the server; and an
// arrival of the entry's own version is stored again, not Unchanged. In an unordered collection,
// only versions of one object are compared: an entry of another object is never newer, and a new
// state of the same object is compared by its contents, as is a repeated event.
package keep
