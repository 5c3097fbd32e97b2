package snapmap

import (
	"iter"
	"sync/atomic"
)

// Map maps strings to values of type *V, each with a note beside it. There is one
// writer at a time: the caller serialises Set, Put, Delete, Item, All, View and the
// Generation's Advance. Get and Len are safe from any goroutine at any time and take
// no lock; they see no notes, which is why a note can be of any size.
type Map[V, N any] struct {
	t table[atomic.Pointer[V], N]
}

// Item is a value with its note. The Value of an item that is not there is nil.
type Item[V, N any] struct {
	Value *V
	Meta  N
}

func itemAt[V, N any](p *page[atomic.Pointer[V], N], i int) Item[V, N] {
	return Item[V, N]{p.slots[i].val.Load(), p.notes[i]}
}

func itemOf[V, N any](r *root[atomic.Pointer[V], N], key string) (item Item[V, N]) {
	h := r.hash.sum(key)
	p := r.page(h)
	if i := p.index(tagOf(h), key); i >= 0 {
		return itemAt(p, i)
	}
	return item
}

// NewMap returns an empty map which g.Advance freezes.
func NewMap[V, N any](g *Generation) *Map[V, N] {
	m := new(Map[V, N])
	m.Init(g)
	return m
}

// Init makes m, which must be the zero Map, an empty map which g.Advance freezes.
func (m *Map[V, N]) Init(g *Generation) { m.t.init(g) }

// Become gives m the content of other, all at once for every reader. From then on
// only m may be used.
func (m *Map[V, N]) Swap(other *Map[V, N]) {
	m.t.g, m.t.peak = other.t.g, other.t.peak
	m.t.n.Store(other.t.n.Load())
	m.t.root.Store(other.t.root.Load())
}

// Get returns the value of key, nil when absent. Beside a writer it returns what
// was there at some moment of the call.
func (m *Map[V, N]) Get(key string) *V {
	if s := m.t.root.Load().find(key); s != nil {
		return s.val.Load()
	}
	return nil
}

// Item returns the value of key and its note. It belongs to the writer's side.
func (m *Map[V, N]) Item(key string) Item[V, N] { return itemOf(m.t.root.Load(), key) }

// Set is Put without a note to take.
func (m *Map[V, N]) Set(key string, v *V) (old *V) {
	return m.Put(key, Item[V, N]{Value: v}).Value
}

// Put adds key or replaces its item, the value of which must not be nil. It returns
// the item replaced.
func (m *Map[V, N]) Put(key string, item Item[V, N]) (old Item[V, N]) {
	if item.Value == nil {
		panic("snapmap: Put of a nil value for key " + key)
	}
	r := m.t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	if i := p.index(tagOf(h), key); i >= 0 {
		p, i = m.t.own(h, p, i)
		old = itemAt(p, i)
		p.notes[i] = item.Meta
		p.slots[i].val.Store(item.Value)
		return old
	}
	p, i := m.t.reserve(h)
	s := &p.slots[i]
	s.key = key
	s.val.Store(item.Value)
	p.notes[i] = item.Meta
	p.publish(i, tagOf(h))
	return old
}

// Delete removes key and returns the value it had, or nil.
func (m *Map[V, N]) Delete(key string) (old *V) {
	r := m.t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	i := p.index(tagOf(h), key)
	if i < 0 {
		return nil
	}
	p, i = m.t.own(h, p, i)
	old = p.slots[i].val.Swap(nil)
	clear(p.notes[i : i+1])
	m.t.remove(h, p, i)
	return old
}

// Len returns the number of keys. Safe from any goroutine.
func (m *Map[V, N]) Len() int { return int(m.t.n.Load()) }

// All yields every entry once, in any order. It belongs to the writer's side,
// who may Set and Delete meanwhile: keys that were there at the start are still
// yielded once each unless deleted before (a deleted one may be, too), keys added
// later may be or not. Others range over a View.
func (m *Map[V, N]) All() iter.Seq2[string, Item[V, N]] {
	return func(yield func(string, Item[V, N]) bool) {
		for _, p := range m.t.pages() {
			if !p.all(func(i int, _ uint64) bool {
				item := itemAt(p, i)
				return item.Value == nil || yield(p.slots[i].key, item) // nil: deleted since its tag was read
			}) {
				return
			}
		}
	}
}

// View captures the map in O(1). The caller, who serialises this with the
// writers, calls Advance on the Generation before the next write: from then on
// the view is immutable.
func (m *Map[V, N]) View() View[V, N] {
	return View[V, N]{r: m.t.root.Load(), n: m.Len()}
}

// View is a Map as it was. It takes no lock and is safe from any goroutine. The
// zero View is empty.
type View[V, N any] struct {
	r *root[atomic.Pointer[V], N]
	n int
}

// Get returns the value of key, nil when absent.
func (v View[V, N]) Get(key string) *V {
	if v.r == nil {
		return nil
	}
	if s := v.r.find(key); s != nil {
		return s.val.Load()
	}
	return nil
}

// Item returns the value of key and its note.
func (v View[V, N]) Item(key string) (item Item[V, N]) {
	if v.r == nil {
		return item
	}
	return itemOf(v.r, key)
}

// Len returns the number of keys.
func (v View[V, N]) Len() int { return v.n }

// All yields every entry once, in any order, the same each time.
func (v View[V, N]) All() iter.Seq2[string, Item[V, N]] {
	return func(yield func(string, Item[V, N]) bool) {
		if v.r == nil {
			return
		}
		v.r.all(func(p *page[atomic.Pointer[V], N]) bool {
			return p.all(func(i int, _ uint64) bool { return yield(p.slots[i].key, itemAt(p, i)) })
		})
	}
}
