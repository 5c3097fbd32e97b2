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

// The map under the store beside what else there is: Go's map, and a B-tree that
// copies pages when it is written to after a Copy. The latter two need a lock
// where one writes and others read. All times are of the processor.
//
// The goals are the table in the design's chapter on this map: what its page
// directory with inline keys took, at the slower end, over what the first of the
// other two took there that can do the job. Ratios, since its nanoseconds were
// another machine's.

type value int

// mapping is what is measured. Its snapshot is made, and ranges over a state that
// stays.
type mapping interface {
	Get(key string) *value
	Set(key string, v *value)
	Snapshot() iter.Seq2[string, *value]
	Len() int
}

func mappings() []string { return []string{"snapmap", "RWMutex+map", "tidwall/btree"} }

func newMappings() []func() mapping {
	return []func() mapping{newPageMap, newGoMap, newTreeMap}
}

// pageMap is snapmap, with a lock that its writer and snapshots share.
type pageMap struct {
	mu         sync.Mutex // one writer, or one taking a snapshot
	generation *snapmap.Generation
	m          *snapmap.Map[value, struct{}]
}

func newPageMap() mapping {
	g := new(snapmap.Generation)
	return &pageMap{generation: g, m: snapmap.NewMap[value, struct{}](g)}
}

func (p *pageMap) Get(key string) *value { return p.m.Get(key) }

func (p *pageMap) Len() int { return p.m.Len() }

func (p *pageMap) Set(key string, v *value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m.Set(key, v)
}

func (p *pageMap) Snapshot() iter.Seq2[string, *value] {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.m.View()
	p.generation.Advance()
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

func newGoMap() mapping { return &goMap{m: map[string]*value{}} }

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

// Snapshot of a Go map is a copy, or the lock held as long as somebody reads,
// which is what is done here: it is the cheaper of the two.
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

func newTreeMap() mapping { return &treeMap{m: new(btree.Map[string, *value])} }

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
	row := func(what, unit string, times float64, n int, measure func(m mapping, keys []string) float64) harness.Experiment {
		return harness.Experiment{
			Name: "map", What: what, Sides: mappings(),
			Metrics: []harness.Metric{{Unit: unit, Goal: harness.AtMost(times)}},
			Prepare: func() ([]harness.Measure, error) { return onMappings(n, measure), nil },
		}
	}
	n := scale.Keys
	return []harness.Experiment{
		row(fmt.Sprintf("Get of %d", n), "ns", 103.0/74, n, func(m mapping, keys []string) float64 { return getMapping(scale, m, keys) }),
		row("update, nobody takes snapshots", "ns", 110.0/84, n, func(m mapping, keys []string) float64 {
			return updateMapping(m, keys, scale.Gets/2, 0)
		}),
		row("update, a snapshot at each", "µs", 8/6.3, n, func(m mapping, keys []string) float64 {
			return updateMapping(m, keys, scale.Gets/40, 1) / 1000
		}),
		row("update, a snapshot each 1,000", "µs", 1, n, func(m mapping, keys []string) float64 {
			return updateMapping(m, keys, scale.Gets/10, 1000) / 1000
		}),
		row(fmt.Sprintf("List of %d", scale.Listed), "µs", 89.0/185, scale.Listed, listMapping),
		{
			Name: "map", What: fmt.Sprintf("bytes an entry of %d, without key bytes", n), Sides: mappings(),
			Metrics: []harness.Metric{{Unit: "B", Goal: harness.Within(40, "B")}}, Rounds: 1,
			Prepare: func() ([]harness.Measure, error) { return sizeOfMappings(scale), nil },
		},
	}
}

// onMappings fills one mapping of each kind, which lasts for all rounds.
func onMappings(n int, measure func(m mapping, keys []string) float64) []harness.Measure {
	keys := keysOf(smallObjects(n))
	var measures []harness.Measure
	for _, build := range newMappings() {
		m := build()
		for _, key := range keys {
			m.Set(key, new(value))
		}
		measures = append(measures, func() ([]float64, error) { return []float64{measure(m, keys)}, nil })
	}
	return measures
}

// getMapping asks with keys of their own bytes.
func getMapping(scale Scale, m mapping, keys []string) float64 {
	asked := keysOf(smallObjects(len(keys)))
	runtime.GC()
	start := harness.CPU()
	for i := range scale.Gets {
		if m.Get(asked[scatter(i, len(asked))]) == nil {
			return math.NaN()
		}
	}
	return cpuEach(start, scale.Gets)
}

// updateMapping returns the nanoseconds of an update, with a snapshot after each
// so many. Go's map has no snapshots other than copies of milliseconds.
func updateMapping(m mapping, keys []string, n, snapshotEach int) float64 {
	if _, ok := m.(*goMap); ok && snapshotEach > 0 {
		return math.NaN()
	}
	v := new(value)
	start := harness.CPU()
	for i := range n {
		if m.Set(keys[scatter(i, len(keys))], v); snapshotEach > 0 && i%snapshotEach == 0 {
			m.Snapshot()
		}
	}
	return cpuEach(start, n)
}

// listMapping returns the microseconds of a list: a snapshot, and a slice of what
// is in it.
func listMapping(m mapping, _ []string) float64 {
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
	return cpuEach(start, lists) / 1000
}

func sizeOfMappings(scale Scale) []harness.Measure {
	keys := keysOf(smallObjects(scale.Keys))
	v := new(value)
	var measures []harness.Measure
	for _, build := range newMappings() {
		measures = append(measures, func() ([]float64, error) {
			before := heap()
			m := build()
			for _, key := range keys {
				m.Set(key, v)
			}
			after := heap()
			runtime.KeepAlive(m)
			return []float64{(float64(after) - float64(before)) / float64(len(keys))}, nil
		})
	}
	return measures
}
