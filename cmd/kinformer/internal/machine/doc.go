// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package machine says how much memory this process may use.
package machine

// fallback is the memory assumed where it is unknown.
const fallback = 4 << 30
