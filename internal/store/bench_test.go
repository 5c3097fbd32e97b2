// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// thing is a minimal object, so that the benchmarks measure the store.
type thing struct{ namespace, uid, version string }

func (*thing) GetObjectKind() schema.ObjectKind  { return schema.EmptyObjectKind }
func (t *thing) DeepCopyObject() kruntime.Object { return t }

func byNamespace(o any) ([]string, error) { return []string{o.(*thing).namespace}, nil }

func thingStore(log *eventlog.Log[Change]) fedStore {
	return newFedStore(Config{
		ItemKeys:    true,
		Identity:    func(o any) (string, string) { return o.(*thing).uid, o.(*thing).version },
		Decode:      func(item feed.Item) (any, error) { return item.Object.(*thing), nil },
		Indexers:    map[string]IndexFunc{"namespace": byNamespace},
		PointerType: reflect.TypeFor[*thing](),
		Report:      func(key string, err error) { panic(err) },
		Log:         log,
	})
}

// things returns n items, 100 per namespace, as a list returns them.
func things(n int) []feed.Item {
	items := make([]feed.Item, n)
	for i := range items {
		namespace := fmt.Sprintf("namespace-%d", i/100)
		uid := fmt.Sprintf("4b6f1f3c-8f0e-4d0a-9a53-%012d", i)
		items[i] = feed.Item{
			Key: fmt.Sprintf("%s/deployment-5d4f8c7b9-%d", namespace, i), UID: uid, ResourceVersion: "1",
			Object: &thing{namespace, uid, "1"},
		}
	}
	return items
}

func fill(s fedStore, items []feed.Item) {
	next := s.Begin()
	for _, item := range items {
		next.Add(item)
	}
	next.Commit("1")
}

// BenchmarkApply measures an update from the store through its log to one cursor. It includes the
// allocation of the object.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{10_000, 200_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			items, log := things(n), eventlog.New[Change]()
			s := thingStore(log)
			fill(s, items)
			cursor := log.Cursor()
			versions := make([]string, 1<<20)
			for i := range versions {
				versions[i] = strconv.Itoa(1_000_000 + i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				item := items[i*7919%n]
				if i%len(versions) == 0 {
					b.StopTimer()
					fill(s, items) // the versions start over
					cursor = log.Cursor()
					b.StartTimer()
				}
				item.ResourceVersion = versions[i%len(versions)]
				item.Object = &thing{item.Object.(*thing).namespace, item.UID, item.ResourceVersion}
				if s.Apply(watch.Modified, item) != feed.Applied {
					b.Fatal("not applied")
				}
				if batch, ok := cursor.TryNext(); !ok || len(batch) != 1 {
					b.Fatal("the log has no change")
				}
				i++
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{10_000, 200_000} {
		items := things(n)
		store, clientGo := thingStore(nil), newClientGo()
		fill(store, items)
		for _, item := range items {
			clientGo.Add(item.Key, item.Object)
		}
		b.Run(fmt.Sprintf("%d, store", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, ok := store.Get(items[i*7919%n].Key); !ok {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprintf("%d, client-go", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, ok := clientGo.Get(items[i*7919%n].Key); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}

func newClientGo() clientcache.ThreadSafeStore {
	return clientcache.NewThreadSafeStore(clientcache.Indexers{"namespace": byNamespace}, clientcache.Indices{})
}

// BenchmarkRelist measures a list in which nothing has changed.
func BenchmarkRelist(b *testing.B) {
	const n = 20_000
	items := things(n)
	s := thingStore(eventlog.New[Change]())
	fill(s, items)
	b.ReportAllocs()
	for b.Loop() {
		fill(s, items)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
}

// BenchmarkMemory reports the bytes of an entry besides its key and object, in the map and one
// index. Its times mean nothing.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{20_000, 200_000, 1_000_000} {
		items := things(n)
		for name, build := range map[string]func() any{
			"store, listed": func() any {
				s := thingStore(nil)
				fill(s, items)
				return s
			},
			"store, watched": func() any {
				s := thingStore(nil)
				for _, item := range items {
					s.Apply(watch.Added, item)
				}
				return s
			},
			"client-go": func() any {
				s := newClientGo()
				for _, item := range items {
					s.Add(item.Key, item.Object)
				}
				return s
			},
		} {
			b.Run(fmt.Sprintf("%d, %s", n, name), func(b *testing.B) {
				var bytes float64
				for b.Loop() {
					before := heap()
					kept := build()
					bytes = float64(heap()-before) / float64(n)
					runtime.KeepAlive(kept)
				}
				b.ReportMetric(bytes, "B/entry")
			})
		}
		runtime.KeepAlive(items)
	}
}

// BenchmarkScopeState measures the condition of each of 200 scopes, with 20,000 quarantined keys.
func BenchmarkScopeState(b *testing.B) {
	h := newHarness(scoped)
	scopes := make([]*Scope, 200)
	for i := range scopes {
		namespace := "n" + strconv.Itoa(i)
		scopes[i] = h.AddScope(scope.Scope{Namespace: namespace})
		list := h.NewFeed(FeedConfig{Scopes: scopes[i : i+1]}).Begin()
		for n := range 100 {
			list.Add(obj(fmt.Sprintf("%s/%d/1@1", namespace, n)).with("decode").item())
		}
		if err := list.Commit("1"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range scopes {
			if state := h.ScopeState(c); state.Quarantined != 100 {
				b.Fatal(state)
			}
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
