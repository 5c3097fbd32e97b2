// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package history stores the objects of a fake API server and the log of their changes. It is the
// counterpart of etcd and the watch cache.
//
// A [Memory] assigns one sequence of resourceVersions to all its collections. A [Collection] holds
// the current objects of one resource and a bounded log of changes. A list at an older version is
// reconstructed from that log, and a watch is a cursor into the end of it, the window. A version
// that the log no longer covers is answered with 410 Expired, as after a compaction, and a watch at
// one that the window no longer covers, too.
//
// A [Watcher] is polled: it has a position in the log but no goroutine and no buffer. A slow
// watcher blocks no other watcher, and if the log drops changes that it has not read, it gets 410
// Expired. (watch.Broadcaster of k8s.io/apimachinery is no substitute. It keeps no history, so a
// watch cannot start at an older version, and a slow watcher either blocks all others or silently
// loses events.)
//
// Stored objects are shared between all readers and never modified. A caller must copy an object
// before modifying it. All exported methods are safe for concurrent use, except those of Watcher.
package history
