// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package eventlog is an append-only log of events with any number of readers, each at its own
// pace.
//
// The log is a linked list of cells. The writer fills the empty cell at the tail and links a new
// empty one behind it. A reader's Cursor points at the first cell it has not read:
//
//	 batch      batch      batch      (empty)
//	┌─────┐ ─▶ ┌─────┐ ─▶ ┌─────┐ ─▶ ┌─────┐
//	└─────┘    └─────┘    └─────┘    └─────┘
//	   ▲                     ▲          ▲
//	slow cursor         fast cursor    tail, filled by the next Append
//
// The links only point forward and the log itself holds only the tail. A batch is garbage as soon
// as the slowest cursor has read it, and the cost of appending does not depend on the number of
// cursors.
//
// # Concurrency
//
// The caller serializes appends: the store appends under its own lock, so both have the same order.
// All other methods are safe for concurrent use, except that a Cursor has one user at a time. If a
// reader is blocked, another goroutine may take over its cursor; the log's alarm notifies it when
// to.
//
// A cell is written before its next pointer is stored atomically, and never afterwards. A reader
// that has loaded the pointer may read the cell without a lock.
package eventlog
