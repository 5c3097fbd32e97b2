package informer

import (
	"math"

	"github.com/kinformer/kinformer/internal/store"
)

// take moves what is to be told next into the hand. If there is nothing, it returns
// the channel that says when there is; nil if there never will be.
func (h *Handler[V]) take() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cursor == nil {
		return nil
	}
	if h.config.OnKey != nil {
		h.takeKeys()
	} else {
		h.takeChanges()
	}
	h.handEnd = h.position()
	if !h.pending.empty() {
		h.handEnd = h.pending.first.from
	}
	if len(h.hand) == 0 {
		if h.atResync() {
			h.resync.told, h.resync.state = h.resync.state, nil
			return nil
		}
		h.lag.level()
		return h.cursor.Ready()
	}
	h.lag.behind(h.informer.log.Appended(), h.clock.Now)
	return nil
}

// takeChanges takes what waits, or what is left of a batch, or what the cursor reads.
func (h *Handler[V]) takeChanges() {
	switch {
	case !h.pending.empty():
		for len(h.hand) < cap(h.hand) && !h.pending.empty() {
			h.hand = append(h.hand, h.pending.take())
		}
	case len(h.rest) > 0:
		h.takeRest()
	default:
		h.takeLog()
	}
	if h.merging && h.pending.empty() && len(h.rest) == 0 {
		h.merging = false // it has caught up with the steward
		h.resumeResync()
	}
}

// takeRest takes of a batch that was begun.
func (h *Handler[V]) takeRest() {
	n := min(cap(h.hand), len(h.rest))
	for i := range h.rest[:n] {
		h.hand = append(h.hand, change[V]{Change: h.rest[i]})
	}
	if h.rest = h.rest[n:]; len(h.rest) == 0 {
		h.rest = nil // what is behind a slice's end is kept alive, too
	}
}

// takeLog takes several batches of one, or the first of a larger one. Until the handler
// has synced, it takes no more than one, so that the end of the first state is noted at
// once.
func (h *Handler[V]) takeLog() {
	room := cap(h.hand)
	if !h.HasSynced() {
		room = 1
	}
	for len(h.hand) < room && !h.atResync() {
		batch, ok := h.cursor.TryNext()
		switch {
		case !ok:
			return
		case len(batch) == 1:
			h.hand = append(h.hand, change[V]{Change: batch[0]})
		default:
			if h.rest = batch; len(h.hand) == 0 {
				h.takeRest()
			}
			return
		}
	}
}

// takeKeys takes one key, after all that the log holds was joined into what waits. A
// batch is not joined but taken as it is: its keys differ, and a map of all of them,
// where it is a first state, would be large.
func (h *Handler[V]) takeKeys() {
	for len(h.rest) == 0 {
		at := h.cursor.Position()
		batch, ok := h.cursor.TryNext()
		if !ok {
			break
		}
		if len(batch) > 1 {
			h.rest = batch
			break
		}
		h.join1(&batch[0], at)
	}
	if !h.pending.empty() {
		h.hand = append(h.hand, h.pending.take())
	} else if len(h.rest) > 0 {
		h.takeRest()
	}
	if h.pending.empty() && len(h.rest) == 0 {
		h.merging = false
		h.resumeResync()
	}
}

// join1 adds one change to what waits.
func (h *Handler[V]) join1(c *store.Change[V], from uint64) {
	if h.config.OnKey != nil {
		c = &store.Change[V]{Key: c.Key} // no state is kept alive for it
	}
	h.pending.add(c, from, h.join)
}

// position returns how many events of the log were read.
func (h *Handler[V]) position() uint64 { return h.cursor.Position() - uint64(len(h.rest)) }

// never is a position that no log reaches.
const never = math.MaxUint64

// stewardSlice is how many changes the steward joins at a time for one handler, whose
// goroutine waits meanwhile if it has come back.
const stewardSlice = 1024

// relieve reads for the handler if it is so many events behind, until it has read all
// that the log holds now. It returns the length of the log at which there is reason to
// look again: every so many events while it is being relieved. The steward calls it.
func (h *Handler[V]) relieve(threshold, every uint64) uint64 {
	if h.config.Delivery == EveryEvent && h.config.OnKey == nil {
		return never
	}
	end := h.informer.log.Appended()
	for {
		if next, done := h.relieveSlice(threshold, every, end); done {
			return next
		}
	}
}

func (h *Handler[V]) relieveSlice(threshold, every, end uint64) (next uint64, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cursor == nil {
		return never, true
	}
	if at := h.position(); !h.merging && at+threshold > end {
		return at + threshold, true
	}
	if !h.merging {
		h.merging = true
		h.postponeResync()
	}
	for range stewardSlice {
		if len(h.rest) == 0 {
			batch, ok := h.cursor.TryNext()
			if !ok {
				break
			}
			h.rest = batch
		}
		h.join1(&h.rest[0], h.position())
		if h.rest = h.rest[1:]; len(h.rest) == 0 {
			h.rest = nil
		}
	}
	at := h.position()
	return at + every, at >= end
}
