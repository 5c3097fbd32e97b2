// Package informer puts the parts together: a reflector feeds a store, the
// store's log feeds handlers. It is generic over the values, so that the typed
// API and adapters to other interfaces are thin shells on one engine.
//
//	source ──▶ reflector ──▶ intake ──▶ store ──▶ log ──▶ cursor ──▶ handler
//
// A [Handler] comes and goes at any time. It has one goroutine, which calls its
// receiver for one event at a time, and its own cursor: it reads the log a few
// events at a time, at its own pace. One that comes late is told a snapshot first,
// and then what the log says after it.
//
// # When a handler is behind
//
// A cursor keeps alive what it has not read. So that a stuck handler does not keep
// every update, the informer's steward, a goroutine which the log wakes when it has
// grown by so much, reads for it and joins what may be joined:
//
//	          ┌ told first ┐                 ┌ told last ┐
//	receiver ◀─ hand ◀─ pending ◀─ rest ◀─── cursor ─▶ log
//	             a few    joined,    of a batch
//	             events   by key     half read
//
// A handler's lock is held for a few events by its goroutine, or by the steward,
// never while the receiver is called. A handler that keeps up has nothing pending.
//
// # What may be joined
//
// Two changes of one key, the later one following on the earlier:
//
//	           then Update                         then Delete    then Add
//	Update     an Update from the first's Old      a Delete       -
//	Add        an Add, unless deletionTimestamp    both           -
//	           appears: then both
//	Delete     -                                   -              both
//
// So whoever compares levels is told the truth, an object that came and went is told
// of, and an object of another UID is another object.
package informer
