package main_test

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/decode"
)

// Decoding alone, without a server: what an object costs in processor time, garbage
// collection included, and in memory that stays.
//
//	go test -run=- -bench=Decode -benchtime=20000x .

// decoder decodes an object.
type decoder func(raw []byte) (any, error)

// way is how to decode objects of a type.
type way struct {
	name string
	make func() decoder // with tables that are empty
}

// ways are the generated code, and ours with little and much that is shared.
func ways[T any, P interface {
	*T
	Unmarshal(raw []byte) error
}](b *testing.B) []way {
	b.Helper()
	ours := func(options decode.Options) func() decoder {
		return func() decoder {
			d, err := decode.New(reflect.TypeFor[T](), options)
			if err != nil {
				b.Fatal(err)
			}
			return d.Decode
		}
	}
	return []way{
		{"generated", func() decoder {
			return func(raw []byte) (any, error) {
				object := P(new(T))
				return object, object.Unmarshal(raw)
			}
		}},
		{"default", ours(decode.Options{})},
		{"ShareEqual", ours(decode.Options{ShareEqual: true})},
	}
}

// encode returns the first objects of a set in their encoding.
func encode[T dataset.Object](b *testing.B, objects []T) (raws [][]byte) {
	b.Helper()
	for _, object := range objects {
		raw, err := object.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	return raws
}

func BenchmarkDecodePods(b *testing.B) {
	for _, set := range []dataset.Replicas{dataset.R20, dataset.R3, dataset.R1} {
		b.Run(set.String(), func(b *testing.B) {
			compareWays(b, encode(b, dataset.NewPods(set, 1).Take(10000)), ways[corev1.Pod](b))
		})
	}
}

func BenchmarkDecodeNodes(b *testing.B) {
	compareWays(b, encode(b, dataset.NewNodes(1).Take(2000)), ways[corev1.Node](b))
}

func BenchmarkDecodeUnstructured(b *testing.B) {
	var raws [][]byte
	for _, object := range dataset.NewCustomResources(1).Take(5000) {
		raw, err := object.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	compareWays(b, raws, []way{
		{"apimachinery", func() decoder {
			return func(raw []byte) (any, error) {
				var object map[string]any
				err := json.UnmarshalCaseSensitivePreserveInts(raw, &object)
				return object, err
			}
		}},
		{"default", func() decoder {
			j := decode.NewJSON(decode.Options{})
			return func(raw []byte) (any, error) { return j.Decode(raw) }
		}},
	})
}

func compareWays(b *testing.B, raws [][]byte, ways []way) {
	b.Helper()
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) { measure(b, raws, way.make) })
	}
}

// measure decodes objects and keeps as many of them as there are different ones, as
// an informer does.
func measure(b *testing.B, raws [][]byte, newDecoder func() decoder) {
	b.Helper()
	b.ReportAllocs()
	kept, decode := make([]any, len(raws)), newDecoder()
	before := liveHeap()
	fill := func(n int) {
		for i := range n {
			object, err := decode(raws[i%len(raws)])
			if err != nil {
				b.Fatal(err)
			}
			kept[i%len(raws)] = object
		}
	}
	started := harness.CPU()
	fill(len(raws))
	first := harness.CPU() - started // into empty tables and memory that was not used yet
	size := liveHeap() - before      // with the tables
	b.ResetTimer()
	started = harness.CPU()
	fill(b.N)
	b.ReportMetric(float64(harness.CPU()-started)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(first)/float64(len(raws)), "first-cpu-ns/object")
	b.ReportMetric(size/float64(len(raws)), "heap-B/object")
	runtime.KeepAlive(kept)
}

// liveHeap returns the bytes in use. Twice, since what has a finalizer goes late.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
