// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope describes parts of a collection of the API, requests for one or several of them,
// and sets of disjoint parts that change while informers run. Package cache declares the types
// again for programs.
//
// A [Scope] is a namespace, a label selector, a field selector and a [Range] of 64-bit FNV-1a
// hashes of the UID or the namespace, each of which may be absent. Two are disjoint if their
// namespaces, ranges or selectors exclude each other; selectors do if they require different values
// of one label or field. A [Set] keeps its scopes disjoint. It sends its subscribers each [Change]
// with the [State] of the scope: whether its objects leave, are taken over by others, or are
// deleted with their namespace. Set.Objects adds up what subscribers hold of each scope.
package scope
