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
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/wire"
)

// The whole of a day is
//
//	go test ./cache -run TestPackedChurn -v -timeout 30m -churn.updates 5000000 -churn.pods 20000
var (
	churnUpdates = flag.Int("churn.updates", 20_000, "so many events of TestPackedChurn")
	churnPods    = flag.Int("churn.pods", 2000, "so many Pods that TestPackedChurn has at a time")
)

// Deployments are rolled out for ever: each Pod is replaced by one of a new ReplicaSet,
// whose status changes a few times, and others stay and change their status alone. An
// informer that packs them takes as much memory after all that as after a tenth of it,
// with readers who hold some objects for a while, an index and a handler.
func TestPackedChurn(t *testing.T) {
	c := newChurn(*churnPods)
	before := heapInUse()
	run := runChurn(t, c)
	done, first := 0, uint64(0)
	weigh := func(n int) {
		run.events(n)
		done += n
		now, pods := heapInUse()-before, run.informer.Store().Len()
		t.Logf("%9d updates: %7.1f kB, %4d B for each of %d Pods, %v", done, float64(now)/1000, now/uint64(pods), pods, run.took)
		if first == 0 {
			first = now
		}
		if now > first+first/10 {
			t.Errorf("%d bytes after %d updates, %d at first", now, done, first)
		}
	}
	weigh(max(*churnUpdates/10, 5**churnPods)) // each Deployment was rolled out then
	for rest := *churnUpdates - done; rest > 0; rest = *churnUpdates - done {
		weigh(min(rest, *churnUpdates/10))
	}
	pods, quarantined := run.informer.Store().Len(), run.informer.Store().Quarantined()
	if pods < c.pods() || pods > c.pods()+1 || quarantined != 0 { // one may be about to be replaced
		t.Errorf("%d Pods, want %d, and %d quarantined", pods, c.pods(), quarantined)
	}
	runtime.KeepAlive(c)
}

func heapInUse() uint64 {
	for range 4 { // what is pooled goes with the second, what has a cleanup after that
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// churning is an informer that is fed from a churn.
type churning struct {
	t        *testing.T
	churn    *churn
	informer *informer.Informer[*corev1.Pod]
	orders   chan int        // to the source: so many events
	told     chan struct{}   // from the handler, of the mark
	held     [50]*corev1.Pod // by readers
	took     time.Duration   // the last orders
}

// mark is the key of a Pod that changes after each tenth: once the handler is told of
// it, it has been told of everything before.
const mark = "mark/mark"

func runChurn(t *testing.T, c *churn) *churning {
	t.Helper()
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	r := &churning{t: t, churn: c, orders: make(chan int), told: make(chan struct{}, 1)}
	c.codec = protobufPods().For(&wire.Item{Format: wire.Protobuf})
	options := InformerOptions[*corev1.Pod]{
		Packed: true, Indexers: Indexers[*corev1.Pod]{NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc)},
		ErrorHandler: func(_ context.Context, err error) { t.Error(err) },
	}
	config := options.engineConfig(objects, newReporter(options.reflectorOptions(), objects))
	config.Reflector.Source = r
	config.Reflector.Report = options.ErrorHandler
	r.informer = informer.New(config)
	_, err = r.informer.Add(informer.HandlerConfig[*corev1.Pod]{Name: "keys", OnKey: func(key string) {
		if key == mark {
			r.told <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.informer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-r.told
	return r
}

// events has so many events go through.
func (r *churning) events(n int) {
	began := time.Now()
	r.orders <- n
	<-r.told
	r.took = time.Since(began).Round(time.Millisecond)
}

// read gets an object and holds it for a while.
func (r *churning) read() {
	random := r.churn.random
	keys, err := r.informer.Store().Snapshot().IndexKeys(NamespaceIndex, fmt.Sprint("namespace-", random.IntN(r.churn.namespaces())))
	if err != nil || len(keys) == 0 {
		r.t.Errorf("%d keys in the index: %v", len(keys), err)
		return
	}
	key := keys[random.IntN(len(keys))]
	pod, ok := r.informer.Store().Get(key)
	if !ok || codec.Key(pod) != key {
		r.t.Errorf("%s is not there, or another one: %v", key, pod)
	}
	r.held[random.IntN(len(r.held))] = pod
}

// List is the state to begin with.
func (r *churning) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	return metav1.ListMeta{ResourceVersion: r.churn.version()}, r.churn.each(add)
}

// Watch sends as many events as it is ordered to, and a change of the mark behind them.
func (r *churning) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-r.orders:
			for i := range n - 1 {
				if i%10 == 0 {
					r.read()
				}
				if err := r.churn.step(events.Event); err != nil {
					return err
				}
			}
			if err := events.Event(watch.Modified, r.churn.item(&r.churn.mark)); err != nil {
				return err
			}
		}
	}
}
