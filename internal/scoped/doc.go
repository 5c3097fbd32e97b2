// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package scoped runs the reflectors of an informer whose collection has parts: scopes.
package scoped
