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
	"github.com/kinformer/kinformer/internal/cachetest"
)

const (
	heapPods = 20_000
	// heapLimit is what a relist may take: the new state's table, which shares its
	// objects with the old one, a few batches of bytes, buffers. The body is 65 MB.
	heapLimit = 4 << 20
)

// TestHeapOfARelist lists Pods that the store has already, and looks every now and
// then at what of it is alive.
func TestHeapOfARelist(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // as many batches are on their way as there are processors, and more
	f := cachetest.Formats["protobuf"]
	var base, most uint64
	look := func(sent int) {
		if sent%(heapPods/8) != 0 {
			return
		}
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if sent == 0 {
			runtime.GC() // what pools let go only at the second time
			runtime.ReadMemStats(&stats)
			base = stats.HeapAlloc
		}
		most = max(most, stats.HeapAlloc)
	}
	s := cachetest.NewScript(t, []http.HandlerFunc{servePods(f, "5", func(int) {}), servePods(f, "6", look)}, nil)
	more := &corev1.Pod{TypeMeta: ofKind("Pod"), ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "more", UID: "u", ResourceVersion: "7"}}
	settled := make(chan struct{})
	gone := func(w http.ResponseWriter, r *http.Request) {
		<-settled
		cachetest.ServeStatus(http.StatusGone, "", "Expired")(w, r)
	}
	s.Watches = []http.HandlerFunc{gone, s.ServeOpen(f.WatchType, f.Event(watch.Added, more))}
	config := s.Config()
	cache.EnableStreaming(config)
	r := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods("")), &corev1.Pod{}, func(o *cache.ReflectorOptions) { o.PageSize = -1 })
	for range heapPods {
		cachetest.Next(t, r.Events)
	}
	close(settled)
	r.Expect("A more@7") // and no other event of the relist
	r.ExpectStreaming()
	grown := max(most, base) - base
	t.Logf("%d KB more while %d Pods passed", grown>>10, heapPods)
	if grown > heapLimit {
		t.Errorf("the heap grew by %d KB while a list of unchanged objects passed", grown>>10)
	}
}

// servePods answers with Pods of 3 KB without having them in memory.
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
	head := binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(template)))
	listMeta, err := (&metav1.ListMeta{ResourceVersion: resourceVersion}).Marshal()
	if err != nil {
		panic(err)
	}
	begin := append([]byte{1<<3 | 2, byte(len(listMeta))}, listMeta...)
	envelope, err := (&apiruntime.Unknown{TypeMeta: apiruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}}).Marshal()
	if err != nil {
		panic(err)
	}
	typeMeta := envelope[:2+int(envelope[1])] // field 1; raw, field 2, follows
	size := len(begin) + heapPods*(len(head)+len(template))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", f.ListType)
		_, _ = w.Write(append([]byte("k8s\x00"), typeMeta...))
		_, _ = w.Write(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(size)))
		_, _ = w.Write(begin)
		pod := bytes.Clone(template)
		for i := range heapPods {
			sent(i)
			copy(pod[digits:], name(i))
			_, _ = w.Write(head)
			_, _ = w.Write(pod)
		}
		sent(heapPods)
	}
}
