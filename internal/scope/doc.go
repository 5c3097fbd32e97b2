// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope describes parts of a collection of the API, requests for one or several of them,
// and sets of parts that change while informers run. Package cache declares the types
// again for programs. The other packages of this module get the [Set] of one of these as follows:
//
//	cache.Scopes ── embeds ──▶ OwnSet ◀──┐
//	                                     ├── SetOf ◀── clientgo, shard
//	cache.View   ── embeds ──▶ SetRef ◀──┘
//
// A [Scope] is a namespace, a name, a label selector, a field selector and a [Range] of 64-bit
// FNV-1a hashes of the UID or the namespace, each of which may be absent. A [Set] has scopes in
// which the namespace, name and UID of an object determine its scope: two that may hold one key
// ([MayShareKeys]) have equal selectors and disjoint ranges of UIDs. It sends its subscribers each
// [Change] with the [State] of the scope: whether its objects leave, or are deleted with their
// namespace. Set.Objects adds up what subscribers hold of each scope.
package scope
