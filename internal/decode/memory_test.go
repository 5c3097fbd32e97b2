package decode

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestIdleIsSmall holds what a Decoder costs that has nothing to decode: a program
// may have many informers of few objects. A Pod has more fields than most.
func TestNewDecoderIsSmall(t *testing.T) {
	newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{}) // reflection keeps what it makes for the first one
	var decoders [10]*Decoder
	before := heapBytes()
	for i := range decoders {
		decoders[i] = newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	}
	each := (heapBytes() - before) / len(decoders)
	t.Logf("%d bytes", each)
	if each > 250_000 {
		t.Errorf("a Decoder takes %d bytes", each)
	}
	runtime.KeepAlive(decoders)
}

func heapBytes() int {
	runtime.GC()
	runtime.GC()
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
