// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/internal/testing/process"
)

// TestNewDecoderIsSmall bounds the memory of an unused Decoder, since a program may have many
// informers with few objects. A Pod has more fields than most types.
func TestNewDecoderIsSmall(t *testing.T) {
	newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{}) // fills the caches of reflection
	var decoders [10]*Decoder
	before := process.LiveHeap()
	for i := range decoders {
		decoders[i] = newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{})
	}
	each := (process.LiveHeap() - before) / float64(len(decoders))
	t.Logf("%.0f bytes", each)
	if each > 12_000 {
		t.Errorf("an unused Decoder takes %.0f bytes", each)
	}
	runtime.KeepAlive(decoders)
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(reflect.TypeFor[corev1.Pod](), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
