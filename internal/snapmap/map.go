package snapmap

import (
	"iter"
	"sync/atomic"
)

// Map maps strings to values of type *V. There is one writer at a time: the
// caller serialises Set, Delete, All, View and the Generation's Advance. Get and
// Len are safe from any goroutine at any time and take no lock.
type Map[V any] struct {
	t table[atomic.Pointer[V]]
}

// NewMap returns an empty map which g.Advance freezes.
func NewMap[V any](g *Generation) *Map[V] {
	m := new(Map[V])
	m.t.init(g)
	return m
}

// Get returns the value of key, nil when absent. Beside a writer it returns what
// was there at some moment of the call.
func (m *Map[V]) Get(key string) *V {
	return get(m.t.root.Load(), key)
}

func get[V any](r *root[atomic.Pointer[V]], key string) *V {
	if s := r.find(key); s != nil {
		return s.val.Load()
	}
	return nil
}

// Set adds key or replaces its value by v, which must not be nil. It returns the
// value replaced, or nil.
func (m *Map[V]) Set(key string, v *V) (old *V) {
	if v == nil {
		panic("snapmap: Set of a nil value for key " + key)
	}
	r := m.t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	if i := p.index(tagOf(h), key); i >= 0 {
		p, i = m.t.own(h, p, i)
		return p.slots[i].val.Swap(v)
	}
	p, i := m.t.reserve(h)
	s := &p.slots[i]
	s.key = key
	s.val.Store(v)
	p.publish(i, tagOf(h))
	return nil
}

// Delete removes key and returns the value it had, or nil.
func (m *Map[V]) Delete(key string) (old *V) {
	r := m.t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	i := p.index(tagOf(h), key)
	if i < 0 {
		return nil
	}
	p, i = m.t.own(h, p, i)
	old = p.slots[i].val.Swap(nil)
	m.t.remove(h, p, i)
	return old
}

// Len returns the number of keys. Safe from any goroutine.
func (m *Map[V]) Len() int { return int(m.t.n.Load()) }

// All yields every entry once, in any order. It belongs to the writer's side,
// who may Set and Delete meanwhile: keys that were there at the start are still
// yielded once each unless deleted before (a deleted one may be, too), keys added
// later may be or not. Others range over a View.
func (m *Map[V]) All() iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		for _, p := range m.t.pages() {
			if !p.all(func(s *slot[atomic.Pointer[V]], _ uint64) bool {
				v := s.val.Load()
				return v == nil || yield(s.key, v) // nil: deleted since its tag was read
			}) {
				return
			}
		}
	}
}

// View captures the map in O(1). The caller, who serialises this with the
// writers, calls Advance on the Generation before the next write: from then on
// the view is immutable.
func (m *Map[V]) View() View[V] {
	return View[V]{r: m.t.root.Load(), n: m.Len()}
}

// View is a Map as it was. It takes no lock and is safe from any goroutine. The
// zero View is empty.
type View[V any] struct {
	r *root[atomic.Pointer[V]]
	n int
}

// Get returns the value of key, nil when absent.
func (v View[V]) Get(key string) *V {
	if v.r == nil {
		return nil
	}
	return get(v.r, key)
}

// Len returns the number of keys.
func (v View[V]) Len() int { return v.n }

// All yields every entry once, in any order, the same each time.
func (v View[V]) All() iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		if v.r == nil {
			return
		}
		v.r.all(func(p *page[atomic.Pointer[V]]) bool {
			return p.all(func(s *slot[atomic.Pointer[V]], _ uint64) bool { return yield(s.key, s.val.Load()) })
		})
	}
}
