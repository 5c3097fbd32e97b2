// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/wire"
)

// repeatReader reads the same bytes n times.
type repeatReader struct {
	b     []byte
	n, at int
}

func (r *repeatReader) Read(p []byte) (n int, err error) {
	for n < len(p) && r.n > 0 {
		m := copy(p[n:], r.b[r.at:])
		n, r.at = n+m, r.at+m
		if r.at == len(r.b) {
			r.at, r.n = 0, r.n-1
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// longList returns the body of a list of n equal Pods, generated while it is read.
func longList(t testing.TB, format wire.Format, n int) io.Reader {
	t.Helper()
	pod := rawOf(t, format, newPod(1))
	if format == wire.JSON {
		return io.MultiReader(
			bytes.NewReader([]byte(`{"kind":"PodList","apiVersion":"v1","items":[`)),
			&repeatReader{b: append(pod[:len(pod):len(pod)], ','), n: n - 1}, bytes.NewReader(pod),
			bytes.NewReader([]byte(`]}`)))
	}
	item := append(binary.AppendUvarint([]byte{0x12}, uint64(len(pod))), pod...)
	head := []byte("k8s\x00" + bytesField(1, bytesField(2, "PodList")) + "\x12")
	return io.MultiReader(bytes.NewReader(binary.AppendUvarint(head, uint64(len(item)*n))), &repeatReader{b: item, n: n})
}

// heap returns the size of the live heap in bytes.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestListHeapIsBoundedByBuffer splits 20,000 Pods. In JSON it splits fewer, because scanning is
// slow under the race detector.
func TestListHeapIsBoundedByBuffer(t *testing.T) {
	const limit = 256 << 10
	for format, pods := range map[wire.Format]int{wire.Protobuf: benchPods, wire.JSON: benchPods / 5} {
		body := longList(t, format, pods)
		before := heap()
		n := 0
		_, err := wire.List(body, format, wire.Options{}, func(item *wire.Item) error {
			if n++; n%(pods/20) == 0 {
				if grown := heap() - before; grown > limit {
					t.Errorf("%v: the heap grew by %d bytes after %d items", format, grown, n)
				}
			}
			return readMeta(item)
		})
		if err != nil || n != pods {
			t.Fatalf("%v: %d items, %v", format, n, err)
		}
	}
}

func TestWatchReleasesBufferOfHugeEvent(t *testing.T) {
	const limit = 512 << 10
	huge := typed(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "huge"}, BinaryData: map[string][]byte{"x": make([]byte, 2<<20)}})
	small := typed(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "small"}})
	for _, format := range formats {
		frames := []io.Reader{bytes.NewReader(encodeEvent(t, format, "ADDED", huge)), bytes.NewReader(encodeEvent(t, format, "ADDED", small))}
		before := heap()
		err := wire.Watch(io.MultiReader(frames...), format, wire.Options{}, func(event *wire.Event) error {
			if grown := heap() - before; event.Object.Index == 1 && grown > limit {
				t.Errorf("%v: the heap grew by %d bytes after a huge event", format, grown)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestListAllocations checks that List reuses its buffer and allocates nothing per item, and that
// Meta allocates once for dozens of them.
func TestListAllocations(t *testing.T) {
	for _, format := range formats {
		body := encode(t, serializer(format), podList(t, 200))
		for _, test := range []struct {
			read func(*wire.Item) error
			most float64
		}{{ignore, 40}, {readMeta, 50}} {
			allocations := testing.AllocsPerRun(3, func() {
				if _, err := wire.List(bytes.NewReader(body), format, wire.Options{Kind: "Pod"}, test.read); err != nil {
					t.Fatal(err)
				}
			})
			if allocations > test.most {
				t.Errorf("%v: %v allocations for 200 items, want at most %v", format, allocations, test.most)
			}
		}
	}
}
