// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"iter"
	"sync/atomic"
)

// Map maps strings to values of type *V, each with metadata of type M. The caller must serialize
// Set, Put, Delete, Item, All, Swap, View and the Generation's Advance. Get and Len are safe for
// concurrent use and lock-free. They do not read metadata, so M may be of any size.
type Map[V, M any] struct {
	t table[atomic.Pointer[V], M]
}

// Item is a value with its metadata. The Value of an absent item is nil.
type Item[V, M any] struct {
	Value *V
	Meta  M
}

func itemAt[V, M any](p *page[atomic.Pointer[V], M], i int) Item[V, M] {
	return Item[V, M]{p.slots[i].val.Load(), p.metas[i]}
}

// itemOf returns the item of key, and the key as the map holds it, or key itself if it is absent.
func itemOf[V, M any](r *root[atomic.Pointer[V], M], key string) (item Item[V, M], kept string) {
	h := r.hash.sum(key)
	p := r.page(h)
	if i := p.index(tagOf(h), key); i >= 0 {
		return itemAt(p, i), p.slots[i].key
	}
	return item, key
}

// NewMap returns an empty map of the group of g.
func NewMap[V, M any](g *Generation) *Map[V, M] {
	m := new(Map[V, M])
	m.t.init(g)
	return m
}

// NewMapLike returns an empty map of the group of g with the page layout of a view, so that adding
// the keys of that splits no page. Once the map has its entries, Trim gives up pages that it does
// not need.
func NewMapLike[V, M any](g *Generation, view View[V, M]) *Map[V, M] {
	m := new(Map[V, M])
	m.t.initLike(g, view.r, view.n)
	return m
}

// Trim rebuilds a map that has less than half as many entries as it had, or the view that it is
// like, and reports whether it did.
func (m *Map[V, M]) Trim() bool {
	isLarge := int(m.t.n.Load()) < m.t.peak/2
	if isLarge {
		m.t.rebuild()
	}
	return isLarge
}

// Swap replaces the contents of m by those of other, atomically for Get. other must not be used
// afterwards.
func (m *Map[V, M]) Swap(other *Map[V, M]) {
	m.t.g, m.t.peak = other.t.g, other.t.peak
	m.t.n.Store(other.t.n.Load())
	m.t.root.Store(other.t.root.Load())
}

// Get returns the value of key, or nil if it is absent. Concurrently with a writer it returns the
// value at some moment during the call.
func (m *Map[V, M]) Get(key string) *V {
	if s := m.t.root.Load().find(key); s != nil {
		return s.val.Load()
	}
	return nil
}

// Item returns the value of key and its metadata. It must not run concurrently with writes.
func (m *Map[V, M]) Item(key string) Item[V, M] {
	item, _ := itemOf(m.t.root.Load(), key)
	return item
}

// KeptItem is Item with the key as the map holds it, or key itself if it is absent.
func (m *Map[V, M]) KeptItem(key string) (item Item[V, M], kept string) {
	return itemOf(m.t.root.Load(), key)
}

// Set is Put with zero metadata. It returns the replaced value.
func (m *Map[V, M]) Set(key string, v *V) (old *V) {
	return m.Put(key, Item[V, M]{Value: v}).Value
}

// Put adds key or replaces its item, and returns the replaced item. It panics if the value is nil.
func (m *Map[V, M]) Put(key string, item Item[V, M]) (old Item[V, M]) {
	if item.Value == nil {
		panic("snapmap: Put of a nil value for key " + key)
	}
	r := m.t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	if i := p.index(tagOf(h), key); i >= 0 {
		p, i = m.t.writable(h, p, i)
		old = itemAt(p, i)
		p.metas[i] = item.Meta
		p.slots[i].val.Store(item.Value)
		return old
	}
	p, i := m.t.reserve(h)
	s := &p.slots[i]
	s.key = key
	s.val.Store(item.Value)
	p.metas[i] = item.Meta
	p.publish(i, tagOf(h))
	return old
}

// Delete removes key and returns its value, or nil if it was absent.
func (m *Map[V, M]) Delete(key string) (old *V) {
	r := m.t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	i := p.index(tagOf(h), key)
	if i < 0 {
		return nil
	}
	p, i = m.t.writable(h, p, i)
	old = p.slots[i].val.Swap(nil)
	clear(p.metas[i : i+1])
	m.t.remove(h, p, i)
	return old
}

// Len returns the number of keys. It is safe for concurrent use.
func (m *Map[V, M]) Len() int { return int(m.t.n.Load()) }

// All yields every entry once, in any order. It must not run concurrently with writes; other
// goroutines range over a View. The loop itself may Set and Delete: keys present at the start are
// yielded once each, unless deleted before, and keys added later may or may not be yielded.
func (m *Map[V, M]) All() iter.Seq2[string, Item[V, M]] {
	return func(yield func(string, Item[V, M]) bool) {
		for _, p := range m.t.pages() {
			if !p.all(func(i int, _ uint64) bool {
				item := itemAt(p, i)
				return item.Value == nil || yield(p.slots[i].key, item) // nil if deleted after the tag was read
			}) {
				return
			}
		}
	}
}

// View returns the current contents in O(1). The caller must serialize View with writes and call
// Advance on the Generation before the next write, which makes the view immutable.
func (m *Map[V, M]) View() View[V, M] {
	return View[V, M]{r: m.t.root.Load(), n: m.Len()}
}

// View is an immutable snapshot of a Map. It is safe for concurrent use and lock-free. The zero
// View is empty.
type View[V, M any] struct {
	r *root[atomic.Pointer[V], M]
	n int
}

// Get returns the value of key, or nil if it is absent.
func (v View[V, M]) Get(key string) *V {
	if v.r == nil {
		return nil
	}
	if s := v.r.find(key); s != nil {
		return s.val.Load()
	}
	return nil
}

// Item returns the value of key and its metadata.
func (v View[V, M]) Item(key string) (item Item[V, M]) {
	if v.r == nil {
		return item
	}
	item, _ = itemOf(v.r, key)
	return item
}

// Len returns the number of keys.
func (v View[V, M]) Len() int { return v.n }

// All yields every entry once, in an arbitrary order that is the same for each call.
func (v View[V, M]) All() iter.Seq2[string, Item[V, M]] {
	return func(yield func(string, Item[V, M]) bool) {
		if v.r == nil {
			return
		}
		v.r.all(func(p *page[atomic.Pointer[V], M]) bool {
			return p.all(func(i int, _ uint64) bool { return yield(p.slots[i].key, itemAt(p, i)) })
		})
	}
}
