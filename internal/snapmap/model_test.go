package snapmap

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// hashes that a map must survive, from none injected to all keys equal.
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

func (t *table[X, N]) injectHash(f func(string) uint64) {
	t.root.Store(newRoot[X, N](t.g.now, hasher{seed: maphash.MakeSeed(), test: f}))
}

// frozen is a view and what was in it.
type frozen struct {
	view  View[int, struct{}]
	model map[string]*int
}

// TestMapModel compares random histories with a plain map: the live map after
// every step, and views kept from earlier steps again and again.
func TestMapModel(t *testing.T) {
	for name, hash := range hashFuncs() {
		t.Run(name, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { mapHistory(t, hash) }) })
	}
}

func mapHistory(t *rapid.T, hash func(string) uint64) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	m.t.injectHash(hash)
	model := map[string]*int{}
	var kept []frozen
	serial := 0
	keys := rapid.IntRange(1, 600).Draw(t, "keys")
	key := func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, keys).Draw(t, "key")) }
	set := func(t *rapid.T, k string) {
		serial++
		v := new(serial)
		if old := m.Set(k, v); old != model[k] {
			t.Fatalf("Set %q returns %v, want %v", k, old, model[k])
		}
		model[k] = v
	}
	remove := func(t *rapid.T, k string) {
		if old := m.Delete(k); old != model[k] {
			t.Fatalf("Delete %q returns %v, want %v", k, old, model[k])
		}
		delete(model, k)
	}
	t.Repeat(map[string]func(*rapid.T){
		"set":    func(t *rapid.T) { set(t, key(t)) },
		"delete": func(t *rapid.T) { remove(t, key(t)) },
		"setMany": func(t *rapid.T) {
			from := rapid.IntRange(0, keys).Draw(t, "from")
			for i := range rapid.IntRange(0, 200).Draw(t, "many") {
				set(t, strconv.Itoa(from+i))
			}
		},
		"deleteMany": func(t *rapid.T) {
			many := rapid.IntRange(0, len(model)).Draw(t, "many")
			for _, k := range slices.Sorted(maps.Keys(model))[:many] {
				remove(t, k)
			}
		},
		"snapshot": func(t *rapid.T) {
			kept = append(kept[max(0, len(kept)-4):], frozen{m.View(), maps.Clone(model)})
			g.Advance()
		},
		"": func(t *rapid.T) {
			m.t.validate(t)
			checkMap[int](t, m, model)
			for _, k := range kept {
				checkMap[int](t, k.view, k.model)
			}
		},
	})
}

type frozenSet struct {
	set   *Set
	model map[string]bool
}

// TestSetModel does the same for sets, across the border from small to big.
func TestSetModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := new(Generation)
		s := NewSet(g)
		model := map[string]bool{}
		var kept []frozenSet
		keys := rapid.SampledFrom([]int{3, 20, 500}).Draw(t, "keys")
		step := func(change func(*Set, string) *Set, in bool) func(*rapid.T) {
			return func(t *rapid.T) {
				from := rapid.IntRange(0, keys).Draw(t, "from")
				for i := range rapid.IntRange(1, max(2, keys/10)).Draw(t, "many") {
					k := strconv.Itoa((from + i) % keys)
					before := s
					s = change(s, k)
					if (before.gen == g.now || model[k] == in) && s != before {
						t.Fatalf("key %q: a new set", k)
					}
					if in {
						model[k] = true
					} else {
						delete(model, k)
					}
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":    step((*Set).Add, true),
			"remove": step((*Set).Remove, false),
			"snapshot": func(t *rapid.T) {
				kept = append(kept, frozenSet{s, maps.Clone(model)})
				g.Advance()
			},
			"": func(t *rapid.T) {
				checkSet(t, s, model)
				for _, k := range kept {
					checkSet(t, k.set, k.model)
				}
			},
		})
	})
}

// TestViewsAcrossGrowth keeps views from times when the map had one page, one
// segment, and many, up and down again: sizes that random histories do not reach.
func TestViewsAcrossGrowth(t *testing.T) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	model := map[string]*int{}
	var kept []frozen
	keep := func() {
		kept = append(kept, frozen{m.View(), maps.Clone(model)})
		g.Advance()
	}
	const n = 30_000
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
		t.Fatalf("%d segments: too few for what this test is about", segments)
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
	for _, k := range kept {
		checkMap[int](t, k.view, k.model)
	}
}
