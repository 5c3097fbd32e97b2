package rows

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"sync"

	"github.com/tidwall/btree"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Row snapshot-map compares internal/snapmap, the store's map, with Go's map and with a
// copy-on-write B-tree. Those two need a lock for concurrent reads and writes. All times are
// processor time.
//
// The goals are ratios that a prototype of snapmap reached: its time, at the slower end, divided by
// that of the first other map that supports the operation.

type value int

// snapshotter is a map that is measured. Snapshot returns an iterator over a state that later
// writes do not change.
type snapshotter interface {
	Get(key string) *value
	Set(key string, v *value)
	Snapshot() iter.Seq2[string, *value]
	Len() int
}

func mapSides() []string { return []string{"snapmap", "RWMutex+map", "tidwall/btree"} }

func newMaps() []func() snapshotter {
	return []func() snapshotter{newSnapMap, newGoMap, newTreeMap}
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

func snapshotMap(scale Scale) []harness.Experiment {
	row := func(setup, unit string, factor float64, n int, measure func(m snapshotter, keys []string) float64) harness.Experiment {
		return harness.Experiment{
			Row: "snapshot-map", Setup: setup, Sides: mapSides(),
			Metrics: []harness.Metric{{Unit: unit, Goal: harness.AtMost(factor)}},
			Prepare: func() ([]harness.Measure, error) { return withFilledMaps(n, measure), nil },
		}
	}
	n := scale.Keys
	return []harness.Experiment{
		row(fmt.Sprintf("Get among %d keys", n), "ns", 103.0/74, n, func(m snapshotter, keys []string) float64 { return measureGet(scale, m, keys) }),
		row("update without snapshots", "ns", 110.0/84, n, func(m snapshotter, keys []string) float64 {
			return measureUpdate(m, keys, scale.Gets/2, 0)
		}),
		row("update with a snapshot after each", "µs", 8/6.3, n, func(m snapshotter, keys []string) float64 {
			return measureUpdate(m, keys, scale.Gets/40, 1) / 1000
		}),
		row("update with a snapshot after every 1,000", "µs", 1, n, func(m snapshotter, keys []string) float64 {
			return measureUpdate(m, keys, scale.Gets/10, 1000) / 1000
		}),
		row(fmt.Sprintf("List of %d", scale.Listed), "µs", 89.0/185, scale.Listed, measureList),
		{
			Row: "snapshot-map", Setup: fmt.Sprintf("memory per entry among %d, without the bytes of the keys", n), Sides: mapSides(),
			Metrics: []harness.Metric{{Unit: "B", Goal: harness.Within(40, "B")}}, Rounds: 1,
			Prepare: func() ([]harness.Measure, error) { return measureMapSize(scale), nil },
		},
	}
}

// withFilledMaps fills each map with n keys once and returns a Measure for each.
func withFilledMaps(n int, measure func(m snapshotter, keys []string) float64) []harness.Measure {
	keys := keysOf(smallObjects(n))
	var measures []harness.Measure
	for _, build := range newMaps() {
		m := build()
		for _, key := range keys {
			m.Set(key, new(value))
		}
		measures = append(measures, func() ([]float64, error) { return []float64{measure(m, keys)}, nil })
	}
	return measures
}

// measureGet returns the time of a Get in nanoseconds. The keys are copies of those in the map.
func measureGet(scale Scale, m snapshotter, keys []string) float64 {
	copies := keysOf(smallObjects(len(keys)))
	runtime.GC()
	start := harness.CPU()
	for i := range scale.Gets {
		if m.Get(copies[scatter(i, len(copies))]) == nil {
			return math.NaN()
		}
	}
	return cpuPer(start, scale.Gets)
}

// measureUpdate returns the time of an update in nanoseconds, with a snapshot after every
// snapshotEvery updates. It returns NaN for Go's map, whose snapshots do not allow writes.
func measureUpdate(m snapshotter, keys []string, n, snapshotEvery int) float64 {
	if _, ok := m.(*goMap); ok && snapshotEvery > 0 {
		return math.NaN()
	}
	v := new(value)
	start := harness.CPU()
	for i := range n {
		if m.Set(keys[scatter(i, len(keys))], v); snapshotEvery > 0 && i%snapshotEvery == 0 {
			m.Snapshot()
		}
	}
	return cpuPer(start, n)
}

// measureList returns the time, in microseconds, to take a snapshot and collect its values in a
// slice.
func measureList(m snapshotter, _ []string) float64 {
	const lists = 1000
	start := harness.CPU()
	for range lists {
		list := make([]*value, 0, m.Len())
		for _, v := range m.Snapshot() {
			list = append(list, v)
		}
		if len(list) != m.Len() {
			return math.NaN()
		}
	}
	return cpuPer(start, lists) / 1000
}

func measureMapSize(scale Scale) []harness.Measure {
	keys := keysOf(smallObjects(scale.Keys))
	v := new(value)
	var measures []harness.Measure
	for _, build := range newMaps() {
		measures = append(measures, func() ([]float64, error) {
			before := harness.LiveHeap()
			m := build()
			for _, key := range keys {
				m.Set(key, v)
			}
			after := harness.LiveHeap()
			runtime.KeepAlive(m)
			return []float64{(after - before) / float64(len(keys))}, nil
		})
	}
	return measures
}
