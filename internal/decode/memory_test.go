// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestNewDecoderIsSmall bounds the memory of an unused Decoder, since a program may have many
// informers with few objects. A Pod has more fields than most types.
func TestNewDecoderIsSmall(t *testing.T) {
	newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{}) // fills the caches of reflection
	var decoders [10]*Decoder
	before := heapBytes()
	for i := range decoders {
		decoders[i] = newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	}
	each := (heapBytes() - before) / len(decoders)
	t.Logf("%d bytes", each)
	if each > 250_000 {
		t.Errorf("an unused Decoder takes %d bytes", each)
	}
	runtime.KeepAlive(decoders)
}

// heapBytes returns the size of the live heap.
func heapBytes() int {
	runtime.GC()
	runtime.GC() // frees what finalizers held
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(reflect.TypeFor[corev1.Pod](), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
