// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/statedb/part"
	"github.com/tidwall/btree"

	"github.com/kinformer/kinformer/internal/snapmap"
)

// The maps of row snapshot-map.

type value int

// snapshotter is a map that is measured. Snapshot returns an iterator over a state that later
// writes do not change.
type snapshotter interface {
	Get(key string) *value
	Set(key string, v *value)
	Snapshot() iter.Seq2[string, *value]
	Len() int
}

func mapSides() []string { return []string{"snapmap", "RWMutex+map", "tidwall/btree", "statedb/part"} }

func newMaps() []func() snapshotter {
	return []func() snapshotter{newSnapMap, newGoMap, newTreeMap, newPartMap}
}

// snapMap is a snapmap.Map with a lock for its writers and snapshots.
type snapMap struct {
	mu         sync.Mutex // held by writes and while a snapshot is taken
	generation *snapmap.Generation
	m          *snapmap.Map[value, struct{}]
}

func newSnapMap() snapshotter {
	g := new(snapmap.Generation)
	return &snapMap{generation: g, m: snapmap.NewMap[value, struct{}](g)}
}

func (s *snapMap) Get(key string) *value { return s.m.Get(key) }

func (s *snapMap) Len() int { return s.m.Len() }

func (s *snapMap) Set(key string, v *value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Set(key, v)
}

func (s *snapMap) Snapshot() iter.Seq2[string, *value] {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := s.m.View()
	s.generation.Advance()
	return func(yield func(string, *value) bool) {
		for key, item := range view.All() {
			if !yield(key, item.Value) {
				return
			}
		}
	}
}

type goMap struct {
	mu sync.RWMutex // guards m
	m  map[string]*value
}

func newGoMap() snapshotter { return &goMap{m: map[string]*value{}} }

func (g *goMap) Get(key string) *value {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.m[key]
}

func (g *goMap) Set(key string, v *value) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m[key] = v
}

func (g *goMap) Len() int { return len(g.m) }

// Snapshot returns an iterator that holds the lock, which is cheaper than a copy of the map.
func (g *goMap) Snapshot() iter.Seq2[string, *value] {
	return func(yield func(string, *value) bool) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		maps.All(g.m)(yield)
	}
}

type treeMap struct {
	mu sync.RWMutex // guards m
	m  *btree.Map[string, *value]
}

func newTreeMap() snapshotter { return &treeMap{m: new(btree.Map[string, *value])} }

func (t *treeMap) Get(key string) *value {
	t.mu.RLock()
	defer t.mu.RUnlock()
	v, _ := t.m.Get(key)
	return v
}

func (t *treeMap) Set(key string, v *value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m.Set(key, v)
}

func (t *treeMap) Len() int { return t.m.Len() }

func (t *treeMap) Snapshot() iter.Seq2[string, *value] {
	t.mu.Lock()
	defer t.mu.Unlock()
	snapshot := t.m.Copy()
	return func(yield func(string, *value) bool) { snapshot.Scan(yield) }
}

// partMap is a tree of statedb, with a channel for its root only. Each write is a transaction, as
// in statedb, and readers load its result without a lock.
type partMap struct {
	mu   sync.Mutex // held by writes
	tree atomic.Pointer[part.Tree[*value]]
}

func newPartMap() snapshotter {
	p := new(partMap)
	tree := part.New[*value](part.RootOnlyWatch)
	p.tree.Store(&tree)
	return p
}

func (p *partMap) Get(key string) *value {
	v, _, _ := p.tree.Load().Get(bytesOf(key))
	return v
}

func (p *partMap) Set(key string, v *value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _, tree := p.tree.Load().Insert(bytesOf(key), v)
	p.tree.Store(&tree)
}

func (p *partMap) Len() int { return p.tree.Load().Len() }

func (p *partMap) Snapshot() iter.Seq2[string, *value] {
	iterator := p.tree.Load().Iterator()
	return func(yield func(string, *value) bool) {
		iterator.All(func(key []byte, v *value) bool { return yield(unsafe.String(unsafe.SliceData(key), len(key)), v) })
	}
}

// bytesOf returns the bytes of a string without a copy. The caller must not write to them.
func bytesOf(key string) []byte { return unsafe.Slice(unsafe.StringData(key), len(key)) }
