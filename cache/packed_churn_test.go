// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/wire"
)

// The events of a day in a large cluster take
//
//	go test ./cache -run TestPackedChurnMemoryIsBounded -v -timeout 30m -churn.updates 5000000 -churn.pods 20000
var (
	churnUpdates = flag.Int("churn.updates", 20_000, "number of events in TestPackedChurnMemoryIsBounded")
	churnPods    = flag.Int("churn.pods", 2000, "number of Pods in TestPackedChurnMemoryIsBounded")
)

// TestPackedChurnMemoryIsBounded rolls out Deployments continuously: Pods are replaced by those of
// a new ReplicaSet, whose status changes a few times, and other Pods change only their status. The
// memory of a packed informer with an index, a handler and readers that hold objects for a while is
// the same after all events as after a tenth of them.
func TestPackedChurnMemoryIsBounded(t *testing.T) {
	c := newChurn(*churnPods)
	before := heapInUse()
	run := runChurnInformer(t, c)
	done, first := 0, uint64(0)
	measure := func(n int) {
		run.send(n)
		done += n
		now, pods := heapInUse()-before, run.informer.Store().Len()
		t.Logf("%9d updates: %7.1f kB, %4d B for each of %d Pods, %v", done, float64(now)/1000, now/uint64(pods), pods, run.duration)
		if first == 0 {
			first = now
		}
		if now > first+first/10 {
			t.Errorf("%d bytes after %d updates, %d after the first measurement", now, done, first)
		}
	}
	measure(max(*churnUpdates/10, 5**churnPods)) // every Deployment has been rolled out once
	for left := *churnUpdates - done; left > 0; left = *churnUpdates - done {
		measure(min(left, *churnUpdates/10))
	}
	pods, quarantined := run.informer.Store().Len(), run.informer.Store().NewFeed(store.FeedConfig{}).Quarantined()
	if pods < c.pods() || pods > c.pods()+1 || quarantined != 0 { // the replacement of one Pod may be in progress
		t.Errorf("%d Pods, want %d, and %d quarantined", pods, c.pods(), quarantined)
	}
	runtime.KeepAlive(c)
}

func heapInUse() uint64 {
	for range 4 { // sync.Pools are emptied by the second, cleanups run later
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// churnInformer is an informer whose source is a churn.
type churnInformer struct {
	t         *testing.T
	churn     *churn
	informer  *informer.Informer
	requests  chan int        // numbers of events for the source to send
	delivered chan struct{}   // the handler has received the marker
	held      [50]*corev1.Pod // objects that readers reference
	duration  time.Duration   // of the last send
}

// marker is the key of a Pod that changes after each group of events. Once the handler receives it,
// it has received all earlier events.
const marker = "marker/marker"

func runChurnInformer(t *testing.T, c *churn) *churnInformer {
	t.Helper()
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	r := &churnInformer{t: t, churn: c, requests: make(chan int), delivered: make(chan struct{}, 1)}
	c.codec = protobufPods().For(&wire.Item{Format: wire.Protobuf})
	options := InformerOptions[*corev1.Pod]{
		Packed: true, StartAny: true, Indexers: Indexers[*corev1.Pod]{NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc)},
		ErrorHandler: func(_ context.Context, err error) { t.Error(err) },
	}
	indexers, err := options.Indexers.resolve(objects)
	if err != nil {
		t.Fatal(err)
	}
	spec := options.spec(&ListWatch{}, objects, indexers, options.reflectorOptions().reporter(objects, nil))
	spec.Wrap = func(feed.Source) feed.Source { return r }
	assembled, err := engine.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	r.informer = assembled.Informer
	_, err = r.informer.Add(informer.HandlerConfig{Name: "keys", OnKey: func(event informer.KeyEvent) {
		if event.Key == marker {
			r.delivered <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- r.informer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	<-r.delivered
	return r
}

// send sends n events and blocks until they are delivered.
func (r *churnInformer) send(n int) {
	began := time.Now()
	r.requests <- n
	<-r.delivered
	r.duration = time.Since(began).Round(time.Millisecond)
}

// read reads a random object and references it until a later read replaces it.
func (r *churnInformer) read() {
	random := r.churn.random
	keys, err := r.informer.Store().Snapshot().IndexKeys(NamespaceIndex, fmt.Sprint("namespace-", random.IntN(r.churn.namespaces())))
	if err != nil || len(keys) == 0 {
		r.t.Errorf("%d keys in the index: %v", len(keys), err)
		return
	}
	key := keys[random.IntN(len(keys))]
	value, _ := r.informer.Store().Get(key)
	pod, ok := value.(*corev1.Pod)
	if !ok || codec.Key(pod) != key {
		r.t.Errorf("%s is not in the store, or is another object: %v", key, value)
	}
	r.held[random.IntN(len(r.held))] = pod
}

// List adds the initial Pods.
func (r *churnInformer) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	return metav1.ListMeta{ResourceVersion: r.churn.version()}, r.churn.each(add)
}

// Watch sends the requested numbers of events, and a change of the marker after each.
func (r *churnInformer) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-r.requests:
			for i := range n - 1 {
				if i%10 == 0 {
					r.read()
				}
				if err := r.churn.step(events.Event); err != nil {
					return err
				}
			}
			if err := events.Event(watch.Modified, r.churn.item(&r.churn.marker)); err != nil {
				return err
			}
		}
	}
}

// Traits implements feed.Source.
func (*churnInformer) Traits() feed.Traits { return feed.Traits{} }
