// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope describes parts of a collection of the API, requests for one or several of them,
// and sets of disjoint parts that change while informers run. Package cache declares the types
// again for programs.
package scope
