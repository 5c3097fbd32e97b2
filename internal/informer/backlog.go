package informer

import "github.com/kinformer/kinformer/internal/store"

// change is a change on its way to a receiver.
type change[V any] struct {
	store.Change[V]
	merged int // how many later changes were joined into this one
}

// waiting is a change that waits for its receiver.
type waiting[V any] struct {
	change[V]
	from uint64      // events of the log before the first one in this
	next *waiting[V] // came later

	// What the change points to. In the log the entries of one change lie together, and
	// each would keep the other one's object alive.
	old, latest store.Entry[V]
}

// own makes the change point to entries of its own.
func (w *waiting[V]) own() {
	if w.Old != nil {
		w.old = *w.Old
		w.Old = &w.old
	}
	switch {
	case w.New != nil:
		w.latest = *w.New
		w.New = &w.latest
	case w.Final != nil:
		w.latest = *w.Final
		w.Final = &w.latest
	}
}

// pending is what waits for a stuck receiver: a queue in the order of the log, in
// which later changes join earlier ones of their key where that is allowed. For each
// object there are two changes at the utmost, and less than 200 bytes for each.
type pending[V any] struct {
	first, last *waiting[V]
	latest      map[string]*waiting[V] // the last one of each key
	n           int
}

func (p *pending[V]) empty() bool { return p.n == 0 }

// add puts a change at the end, unless it can join the last one of its key. join puts
// the second change into the first, or tells that it must not. from is how many events
// of the log came before.
func (p *pending[V]) add(c *store.Change[V], from uint64, join func(first, second *store.Change[V]) bool) {
	if before := p.latest[c.Key]; before != nil && join(&before.Change, c) {
		before.merged++
		before.own()
		return
	}
	w := &waiting[V]{change: change[V]{Change: *c}, from: from}
	w.own()
	if p.latest == nil {
		p.latest = make(map[string]*waiting[V])
	}
	p.latest[c.Key] = w
	if p.last == nil {
		p.first = w
	} else {
		p.last.next = w
	}
	p.last = w
	p.n++
}

// take takes the first change out. Nothing joins it any more.
func (p *pending[V]) take() change[V] {
	w := p.first
	if p.first = w.next; p.first == nil {
		p.last = nil
	}
	w.next = nil // whoever keeps this one must not keep those that come after it
	if p.latest[w.Key] == w {
		delete(p.latest, w.Key)
	}
	if p.n--; p.n == 0 {
		p.latest = nil // a map keeps the size that it once had
	}
	return w.change
}
