// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope describes parts of a collection of the API, and sets of them that change while
// informers run. Package cache declares the types again for programs.
package scope
