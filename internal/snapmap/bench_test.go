// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/process"
)

// The benchmarks compare Map with a Go map guarded by a RWMutex, which is copied for a snapshot.

const benchKeys = 200_000

// newKeys returns keys like those of Kubernetes objects. Each is a separate allocation.
func newKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%03d/deployment-%05d-%08x", i%500, i/20, uint32(i)*2654435761)
	}
	return keys
}

type object struct{ _ int } // not empty: pointers to distinct zero-size values may be equal

// store is the interface of both implementations.
type store interface {
	Get(string) *object
	Set(string, *object) *object
	Delete(string) *object
	snapshot() func(func(string, *object) bool)
}

type snapshotMap struct {
	*Map[object, struct{}]
	g *Generation
}

func newSnapshotMap() store {
	g := new(Generation)
	return &snapshotMap{NewMap[object, struct{}](g), g}
}

func (o *snapshotMap) snapshot() func(func(string, *object) bool) {
	v := o.View()
	o.g.Advance()
	return func(yield func(string, *object) bool) {
		for k, item := range v.All() {
			if !yield(k, item.Value) {
				return
			}
		}
	}
}

type lockedMap struct {
	mu sync.RWMutex // guards m
	m  map[string]*object
}

func newLockedMap() store { return &lockedMap{m: map[string]*object{}} }

func (l *lockedMap) Get(k string) *object {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.m[k]
}

func (l *lockedMap) Set(k string, v *object) *object {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.m[k]
	l.m[k] = v
	return old
}

func (l *lockedMap) Delete(k string) *object {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.m[k]
	delete(l.m, k)
	return old
}

// snapshot copies the map.
func (l *lockedMap) snapshot() func(func(string, *object) bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.All(maps.Clone(l.m))
}

var stores = []struct {
	name string
	new  func() store
}{{"snapmap", newSnapshotMap}, {"RWMutex", newLockedMap}}

// eachStore runs a benchmark on stores of n keys.
func eachStore(b *testing.B, n int, bench func(b *testing.B, s store, keys []string)) {
	keys := newKeys(n)
	for _, st := range stores {
		s := st.new()
		for _, k := range keys {
			s.Set(k, new(object))
		}
		runtime.GC()
		b.Run(st.name, func(b *testing.B) {
			b.ReportAllocs()
			bench(b, s, keys)
		})
	}
}

// next returns indexes in an order that caches do not predict.
func next(i, n int) int { return int(uint64(i) * 11400714819323198485 >> 20 % uint64(n)) }

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1_000, 10_000, benchKeys} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			eachStore(b, n, func(b *testing.B, s store, keys []string) {
				for i := range b.N {
					if s.Get(keys[next(i, n)]) == nil {
						b.Fatal("not found")
					}
				}
			})
		})
	}
}

func BenchmarkGetAbsent(b *testing.B) {
	absent := newKeys(benchKeys)
	for i, k := range absent {
		absent[i] = k + "x"
	}
	eachStore(b, benchKeys, func(b *testing.B, s store, _ []string) {
		for i := range b.N {
			if s.Get(absent[next(i, benchKeys)]) != nil {
				b.Fatal("found")
			}
		}
	})
}

// BenchmarkGetDuringWrites has eight readers and one continuous writer.
func BenchmarkGetDuringWrites(b *testing.B) {
	eachStore(b, benchKeys, func(b *testing.B, s store, keys []string) {
		var stop atomic.Bool
		var writer sync.WaitGroup
		writes := 0
		writer.Go(func() {
			for ; !stop.Load(); writes++ {
				s.Set(keys[next(writes, benchKeys)], new(object))
			}
		})
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for i := range b.N / 8 {
					s.Get(keys[next(i, benchKeys)])
				}
			})
		}
		readers.Wait()
		b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
		stop.Store(true)
		writer.Wait()
	})
}

// BenchmarkUpdate replaces values and takes a snapshot after every 0, 1 or 1000 writes.
func BenchmarkUpdate(b *testing.B) {
	for _, every := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("snapshotEach=%d", every), func(b *testing.B) {
			eachStore(b, benchKeys, func(b *testing.B, s store, keys []string) {
				v := new(object)
				for i := range b.N {
					if s.Set(keys[next(i, benchKeys)], v); every > 0 && i%every == 0 {
						s.snapshot()
					}
				}
			})
		})
	}
}

// BenchmarkReplace deletes a key and adds another in a store of 20,000 keys.
func BenchmarkReplace(b *testing.B) {
	const live = 20_000
	keys := newKeys(2 * live)
	eachStore(b, live, func(b *testing.B, s store, _ []string) {
		v := new(object)
		for i := range b.N {
			s.Delete(keys[i%(2*live)])
			s.Set(keys[(i+live)%(2*live)], v)
		}
	})
}

// BenchmarkFill builds a store of 200,000 keys.
func BenchmarkFill(b *testing.B) {
	keys := newKeys(benchKeys)
	for _, st := range stores {
		b.Run(st.name, func(b *testing.B) {
			v := new(object)
			for range b.N {
				s := st.new()
				for _, k := range keys {
					s.Set(k, v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/key")
		})
	}
}

// BenchmarkList ranges over a snapshot of 10,000 entries.
func BenchmarkList(b *testing.B) {
	eachStore(b, 10_000, func(b *testing.B, s store, _ []string) {
		list := make([]*object, 0, 10_000)
		for range b.N {
			list = list[:0]
			if l, ok := s.(*lockedMap); ok { // holds the lock instead of copying
				l.mu.RLock()
				for _, v := range l.m {
					list = append(list, v)
				}
				l.mu.RUnlock()
				continue
			}
			for _, v := range s.snapshot() {
				list = append(list, v)
			}
		}
		if len(list) != 10_000 {
			b.Fatal(len(list))
		}
	})
}

// BenchmarkListParallel lists 10,000 entries in 80 goroutines, with one continuous writer.
func BenchmarkListParallel(b *testing.B) {
	eachStore(b, 10_000, func(b *testing.B, s store, keys []string) {
		var mu sync.Mutex // serializes writes and snapshots
		var stop atomic.Bool
		var lists, writer sync.WaitGroup
		writes := 0
		writer.Go(func() {
			for ; !stop.Load(); writes++ {
				mu.Lock()
				s.Set(keys[next(writes, 10_000)], new(object))
				mu.Unlock()
			}
		})
		for w := range 80 {
			lists.Go(func() {
				for range (b.N + w) / 80 {
					list := make([]*object, 0, 10_000)
					if l, ok := s.(*lockedMap); ok {
						l.mu.RLock()
						for _, v := range l.m {
							list = append(list, v)
						}
						l.mu.RUnlock()
						continue
					}
					mu.Lock()
					all := s.snapshot()
					mu.Unlock()
					for _, v := range all {
						list = append(list, v)
					}
				}
			})
		}
		lists.Wait()
		b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
		stop.Store(true)
		writer.Wait()
	})
}

// heapPer returns the heap size of build's result divided by n.
func heapPer(n int, build func() any) float64 {
	before := process.LiveHeap()
	x := build()
	grown := process.LiveHeap() - before
	runtime.KeepAlive(x)
	return grown / float64(n)
}

// BenchmarkMemory reports the bytes an entry without its key and value.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{3, 100, 10_000, benchKeys} {
		keys := newKeys(n)
		v := new(object)
		maps := max(1, 10_000/n)
		measure := func(name string, build func() any) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for range b.N {
				}
				b.ReportMetric(heapPer(n*maps, func() any {
					all := make([]any, maps)
					for i := range all {
						all[i] = build()
					}
					return all
				}), "B/entry")
				b.ReportMetric(0, "ns/op")
			})
		}
		for _, st := range stores {
			measure(st.name, func() any {
				s := st.new()
				for _, k := range keys {
					s.Set(k, v)
				}
				return s
			})
		}
		measure("set", func() any {
			g := new(Generation)
			s := NewSet(g)
			for _, k := range keys {
				s.Add(g, k)
			}
			return s
		})
	}
	b.Run("set/1", func(b *testing.B) {
		g := new(Generation)
		b.ReportMetric(heapPer(10_000, func() any {
			sets := make([]*Set, 10_000)
			for i := range sets {
				sets[i] = NewSet(g).Add(g, "key")
			}
			return sets
		})-8, "B/set")
		b.ReportMetric(0, "ns/op")
	})
}
