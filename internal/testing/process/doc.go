// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package process measures what this process uses, and runs its program again as a child process.
// In a process that ran two informers, neither peak memory nor the garbage collector's CPU could be
// attributed to one of them.
package process
