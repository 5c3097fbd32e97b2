// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/random"
)

// hashFuncs returns hash functions, from the default one to one in which all keys collide.
func hashFuncs() map[string]func(string) uint64 {
	seed := maphash.MakeSeed()
	sum := func(k string) uint64 { return maphash.String(seed, k) }
	return map[string]func(string) uint64{
		"good":       nil,
		"constant":   func(string) uint64 { return 0 },
		"ones":       func(string) uint64 { return ^uint64(0) },
		"low equal":  func(k string) uint64 { return sum(k) << 56 },
		"high equal": func(k string) uint64 { return sum(k) >> 8 },
		"two low":    func(k string) uint64 { return sum(k) & 0xff00000000000003 },
		"uneven":     func(k string) uint64 { return sum(k) << (sum(k) >> 32 % 30) },
		"low run":    func(k string) uint64 { return sum(k) & 0xff00000000000fff << 20 },
	}
}

func (t *table[X, M]) injectHash(f func(string) uint64) {
	t.root.Store(newRoot[X, M](t.g.now, hasher{seed: maphash.MakeSeed(), override: f}))
}

// kept is a view and its expected contents.
type kept struct {
	view  View[int, struct{}]
	model map[string]*int
}

// TestMapModel compares random histories with a plain map: the live map after each step, and
// earlier views again and again.
func TestMapModel(t *testing.T) {
	for name, hash := range hashFuncs() {
		t.Run(name, func(t *testing.T) { random.Check(t, modelRounds, func(t *random.T) { mapHistory(t, hash) }) })
	}
}

func mapHistory(t *random.T, hash func(string) uint64) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	m.t.injectHash(hash)
	model := map[string]*int{}
	var views []kept
	serial := 0
	keys := t.Range("keys", 1, 600)
	key := func(t *random.T) string { return strconv.Itoa(t.Range("key", 0, keys)) }
	set := func(t *random.T, k string) {
		serial++
		v := new(serial)
		if old := m.Set(k, v); old != model[k] {
			t.Fatalf("Set %q returned %v, want %v", k, old, model[k])
		}
		model[k] = v
	}
	remove := func(t *random.T, k string) {
		if old := m.Delete(k); old != model[k] {
			t.Fatalf("Delete %q returned %v, want %v", k, old, model[k])
		}
		delete(model, k)
	}
	t.Repeat(map[string]func(*random.T){
		"set":    func(t *random.T) { set(t, key(t)) },
		"delete": func(t *random.T) { remove(t, key(t)) },
		"setMany": func(t *random.T) {
			from := t.Range("from", 0, keys)
			for i := range t.Range("many", 0, 200) {
				set(t, strconv.Itoa(from+i))
			}
		},
		"deleteMany": func(t *random.T) {
			many := t.Range("many", 0, len(model))
			for _, k := range slices.Sorted(maps.Keys(model))[:many] {
				remove(t, k)
			}
		},
		"snapshot": func(t *random.T) {
			views = append(views[max(0, len(views)-4):], kept{m.View(), maps.Clone(model)})
			g.Advance()
		},
		"": func(t *random.T) {
			m.t.validate(t)
			checkMap[int](t, m, model)
			for _, v := range views {
				checkMap[int](t, v.view, v.model)
			}
		},
	})
}

// keptSet is a frozen set and its expected contents.
type keptSet struct {
	set   *Set
	model map[string]bool
}

// TestSetModel compares random histories with a plain map, for small and large sets.
func TestSetModel(t *testing.T) {
	random.Check(t, modelRounds, func(t *random.T) {
		g := new(Generation)
		s := NewSet(g)
		model := map[string]bool{}
		var sets []keptSet
		keys := random.From(t, "keys", 3, 20, 50, 500)
		step := func(change func(*Set, *Generation, string) *Set, in bool) func(*random.T) {
			return func(t *random.T) {
				from := t.Range("from", 0, keys)
				for i := range t.Range("many", 1, max(2, keys/10)) {
					k := strconv.Itoa((from + i) % keys)
					if in && model[k] {
						continue
					}
					before := s
					s = change(s, g, k)
					if (before.gen == g.now || model[k] == in) && s != before {
						t.Fatalf("changing key %q returned a new set", k)
					}
					if in {
						model[k] = true
					} else {
						delete(model, k)
					}
				}
			}
		}
		t.Repeat(map[string]func(*random.T){
			"add":    step((*Set).Add, true),
			"remove": step((*Set).Remove, false),
			"snapshot": func(t *random.T) {
				sets = append(sets, keptSet{s, maps.Clone(model)})
				g.Advance()
			},
			"": func(t *random.T) {
				checkSet(t, s, model)
				for _, k := range sets {
					checkSet(t, k.set, k.model)
				}
			},
		})
	})
}

// TestViewsAcrossGrowth keeps views of a map that grows from one page to many segments and shrinks
// again. Random histories do not reach these sizes.
func TestViewsAcrossGrowth(t *testing.T) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	model := map[string]*int{}
	var views []kept
	keep := func() {
		views = append(views, kept{m.View(), maps.Clone(model)})
		g.Advance()
	}
	const n = growthKeys
	for i := range n {
		if i&(i-1) == 0 || i%7000 == 0 {
			keep()
		}
		k := strconv.Itoa(i)
		model[k] = new(i)
		m.Set(k, model[k])
	}
	m.t.validate(t)
	if segments := m.t.root.Load().distinct(); segments < 4 {
		t.Fatalf("the map has %d segments, want at least 4", segments)
	}
	for i := range n {
		if i%7000 == 0 {
			keep()
		}
		k := strconv.Itoa(i)
		delete(model, k)
		m.Delete(k)
	}
	m.t.validate(t)
	for _, v := range views {
		checkMap[int](t, v.view, v.model)
	}
}
