// Package history is the memory of a fake API server: what etcd and the watch cache are to a real one.
//
// A [Memory] counts one resourceVersion for all its collections. A [Collection] holds the current objects of one resource
// and a bounded log of their changes; lists at an older version are read backwards from that log, and watches are cursors
// into it. Whatever the log no longer holds is answered with 410 Expired, as after a compaction.
//
// A [Watcher] is pulled, never pushed: it owns no goroutine and no buffer, only a position in the log. So a thousand watchers
// cost a thousand positions, a slow one holds up nobody, and one so slow that the log has moved past it gets its 410.
// (k8s.io/apimachinery/pkg/watch.Broadcaster does not serve here: it remembers nothing, so a watch cannot start at an older
// version, and when a watcher is slow it either stops all the others or drops events without a word.)
//
// Objects in the memory are shared between all readers and never changed after they were stored: callers copy before they
// hand one to somebody who may write into it.
//
// All exported methods may be called from any goroutine, except those of a Watcher, which belong to one caller at a time.
package history
