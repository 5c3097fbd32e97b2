// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// decodeFunc decodes an object.
type decodeFunc func(raw []byte) (any, error)

// decoder is a named way to decode objects of a type.
type decoder struct {
	name string
	make func() decodeFunc // with empty tables
}

// decoders returns the generated code, and internal/decode with and without ShareEqual.
func decoders[T any, P interface {
	*T
	Unmarshal(raw []byte) error
}](b *testing.B) []decoder {
	b.Helper()
	ours := func(options decode.Options) func() decodeFunc {
		return func() decodeFunc {
			d, err := decode.New(reflect.TypeFor[T](), options)
			if err != nil {
				b.Fatal(err)
			}
			return d.Decode
		}
	}
	return []decoder{
		{"generated", func() decodeFunc {
			return func(raw []byte) (any, error) {
				object := P(new(T))
				return object, object.Unmarshal(raw)
			}
		}},
		{"default", ours(decode.Options{})},
		{"ShareEqual", ours(decode.Options{ShareEqual: true})},
	}
}

// encode returns the objects in protobuf.
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
	for _, perWorkload := range []dataset.PodsPerWorkload{20, 3, 1} {
		b.Run(perWorkload.String(), func(b *testing.B) {
			compare(b, encode(b, dataset.NewPods(perWorkload, 1).Take(10000)), decoders[corev1.Pod](b))
		})
	}
}

func BenchmarkDecodeNodes(b *testing.B) {
	compare(b, encode(b, dataset.NewNodes(1).Take(2000)), decoders[corev1.Node](b))
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
	compare(b, raws, []decoder{
		{"apimachinery", func() decodeFunc {
			return func(raw []byte) (any, error) {
				var object map[string]any
				err := json.UnmarshalCaseSensitivePreserveInts(raw, &object)
				return object, err
			}
		}},
		{"default", func() decodeFunc {
			j := decode.NewJSON(decode.Options{})
			return func(raw []byte) (any, error) { return j.Decode(raw) }
		}},
	})
}

// BenchmarkCheckPods checks encoded Pods, as a packed store does with each object that it receives.
func BenchmarkCheckPods(b *testing.B) {
	raws := encode(b, dataset.NewPods(20, 1).Take(100)) // in the processor's cache, as bytes just received are
	d, err := decode.New(reflect.TypeFor[corev1.Pod](), decode.Options{})
	if err != nil {
		b.Fatal(err)
	}
	bytes := 0
	b.ResetTimer()
	started := process.CPU()
	for i := range b.N {
		raw := raws[i%len(raws)]
		bytes += len(raw)
		if err := d.Check(raw); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(process.CPU()-started)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(bytes)/float64(b.N), "B/object")
}

func compare(b *testing.B, raws [][]byte, decoders []decoder) {
	b.Helper()
	for _, decoder := range decoders {
		b.Run(decoder.name, func(b *testing.B) { measure(b, raws, decoder.make) })
	}
}

// measure decodes the objects again and again, and keeps the latest of each, as an informer does.
func measure(b *testing.B, raws [][]byte, newDecodeFunc func() decodeFunc) {
	b.Helper()
	b.ReportAllocs()
	kept, decode := make([]any, len(raws)), newDecodeFunc()
	before := process.LiveHeap()
	fill := func(n int) {
		for i := range n {
			object, err := decode(raws[i%len(raws)])
			if err != nil {
				b.Fatal(err)
			}
			kept[i%len(raws)] = object
		}
	}
	started := process.CPU()
	fill(len(raws))
	first := process.CPU() - started    // with empty tables and unused memory
	size := process.LiveHeap() - before // tables included
	b.ResetTimer()
	started = process.CPU()
	fill(b.N)
	b.ReportMetric(float64(process.CPU()-started)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(first)/float64(len(raws)), "first-cpu-ns/object")
	b.ReportMetric(size/float64(len(raws)), "heap-B/object")
	runtime.KeepAlive(kept)
}
