// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

const (
	heapPods = 20_000
	// heapLimit is how much the heap may grow during a relist: by the new table, which shares its
	// objects with the old one (3 MB), batches of items and buffers (a few, by what was being
	// decoded at a measurement). The body has 65 MB.
	heapLimit = 10 << 20
)

// TestRelistHeapIsBounded lists stored Pods again, and measures the heap while their bytes are
// read.
func TestRelistHeapIsBounded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // the number of batches being decoded depends on it
	f := cachetest.Formats["protobuf"]
	var base, most uint64
	measure := func(sent int) {
		if sent%(heapPods/8) != 0 {
			return
		}
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if sent == 0 {
			runtime.GC() // frees pooled memory
			runtime.ReadMemStats(&stats)
			base = stats.HeapAlloc
		}
		most = max(most, stats.HeapAlloc)
	}
	s := cachetest.NewScript(t, []http.HandlerFunc{servePods(f, "5", func(int) {}), servePods(f, "6", measure)}, nil)
	last := cachetest.Pod("last", cachetest.WithVersion("7"))
	last.TypeMeta = cachetest.TypeMeta("Pod")
	synced := make(chan struct{})
	gone := func(w http.ResponseWriter, r *http.Request) {
		<-synced
		cachetest.ServeStatus(http.StatusGone, "", "Expired")(w, r)
	}
	s.Watches = []http.HandlerFunc{gone, s.ServeOpen(f.WatchType, f.Event(watch.Added, last))}
	config := s.Config()
	cache.EnableStreaming(config)
	pods := cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(""))
	h := cachetest.RunOverNetwork(t, pods, &corev1.Pod{}, func(o *cache.ReflectorOptions) { o.PageSize = -1 })
	for range heapPods {
		cachetest.Next(t, h.Events)
	}
	close(synced)
	h.Expect("A last@7") // the relist delivers no event
	h.ExpectStreaming()
	grown := max(most, base) - base
	t.Logf("the heap grew by %d KB during a relist of %d Pods", grown>>10, heapPods)
	if grown > heapLimit {
		t.Errorf("the heap grew by %d KB during a relist of unchanged objects, want at most %d KB", grown>>10, heapLimit>>10)
	}
}

// servePods returns a handler that sends Pods of 3 KB one by one. It calls sent with the number of
// Pods sent before each, and at the end.
func servePods(f cachetest.Format, resourceVersion string, sent func(int)) http.HandlerFunc {
	name := func(i int) string { return fmt.Sprintf("%06d", i) }
	template, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "pod-" + name(0), UID: "uid", ResourceVersion: "1",
		Annotations: map[string]string{"large": strings.Repeat("abcdefgh", 400)},
	}}).Marshal()
	if err != nil {
		panic(err)
	}
	digits := bytes.Index(template, []byte(name(0)))
	header := binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(template)))
	listMeta, err := (&metav1.ListMeta{ResourceVersion: resourceVersion}).Marshal()
	if err != nil {
		panic(err)
	}
	metadata := append([]byte{1<<3 | 2, byte(len(listMeta))}, listMeta...)
	envelope, err := (&apiruntime.Unknown{TypeMeta: apiruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}}).Marshal()
	if err != nil {
		panic(err)
	}
	typeMeta := envelope[:2+int(envelope[1])] // field 1; field 2 is the list
	size := len(metadata) + heapPods*(len(header)+len(template))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", f.ListType)
		_, _ = w.Write(append([]byte("k8s\x00"), typeMeta...))
		_, _ = w.Write(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(size)))
		_, _ = w.Write(metadata)
		pod := bytes.Clone(template)
		for i := range heapPods {
			sent(i)
			copy(pod[digits:], name(i))
			_, _ = w.Write(header)
			_, _ = w.Write(pod)
		}
		sent(heapPods)
	}
}
