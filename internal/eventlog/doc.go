// Package eventlog is a log of events with any number of readers, each at its
// own pace.
//
// The log is a linked list of cells. The writer fills the empty cell at the
// tail and links a new empty one behind it; a reader's Cursor points at the
// first cell it has not read:
//
//	 batch      batch      batch      (empty)
//	┌─────┐ ─▶ ┌─────┐ ─▶ ┌─────┐ ─▶ ┌─────┐
//	└─────┘    └─────┘    └─────┘    └─────┘
//	   ▲                     ▲          ▲
//	slow cursor         fast cursor    tail: what Append fills next
//
// Nothing points backwards and the log itself holds the tail only, so a batch
// is garbage as soon as the slowest cursor has read it, and appending costs the
// same whether one cursor follows or a hundred do.
//
// # Concurrency
//
// Appends and Close are serialised by the caller (the store appends under its
// own lock, so that the log's order is the store's). Everything else may be
// called from any goroutine, except that one Cursor belongs to one goroutine at
// a time. Where a reader may be stuck, another goroutine can read for it, once it
// holds the cursor; the log's alarm says when there is reason to.
//
// A cell is written before its next pointer is published, atomically, and never
// afterwards: whoever sees the pointer may read the cell without a lock.
package eventlog
