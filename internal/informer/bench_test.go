package informer

import (
	"context"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// noSource is never asked.
type noSource struct{ feed.Source }

func (noSource) List(ctx context.Context, _ metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	<-ctx.Done()
	return metav1.ListMeta{}, ctx.Err()
}

// podItems returns n items, as from a watch, of Pods of which there are so many, from a
// version on.
func podItems(n, pods, version int) []feed.Item {
	items := make([]feed.Item, n)
	for i := range items {
		rv, name := strconv.Itoa(version+i), "pod-"+strconv.Itoa((version+i)%pods)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: rv}}
		items[i] = feed.Item{Key: "default/" + name, UID: string(p.UID), ResourceVersion: rv, Object: p}
	}
	return items
}

func podStore() store.Config[*corev1.Pod] {
	return store.Config[*corev1.Pod]{
		Key:      func(p *corev1.Pod) (string, error) { return p.Namespace + "/" + p.Name, nil },
		ItemKeys: true,
		Identity: func(p *corev1.Pod) (string, string) { return string(p.UID), p.ResourceVersion },
		Decode: func(item feed.Item) (*corev1.Pod, error) {
			obj, err := item.Decoded()
			if err != nil {
				return nil, err
			}
			return obj.(*corev1.Pod), nil
		},
		Report: func(string, error) {},
	}
}

// BenchmarkEventToHandlers takes one watch event, an update of one of 10,000 Pods, from
// the sink through store and log to the handlers, until the last has returned. The goal
// for one handler is 0.4 µs.
func BenchmarkEventToHandlers(b *testing.B) {
	for _, handlers := range []int{1, 4, 16} {
		b.Run(strconv.Itoa(handlers), func(b *testing.B) { benchmarkEvents(b, handlers) })
	}
}

func benchmarkEvents(b *testing.B, handlers int) {
	b.Helper()
	const pods, batch = 10_000, 1_000
	i := New(Config[*corev1.Pod]{Name: "pods", Store: podStore(), Reflector: reflector.Config{Source: noSource{}}})
	through := make(chan struct{}, handlers) // gets one from each handler that has had another batch
	for h := range handlers {
		seen := 0
		i.AddHandler("handler"+strconv.Itoa(h), func(Event[*corev1.Pod]) {
			if seen++; seen >= pods && seen%batch == 0 {
				through <- struct{}{}
			}
		}, 0)
	}
	ctx, cancel := context.WithCancel(b.Context())
	stopped := make(chan error)
	go func() { stopped <- i.Run(ctx) }()
	state := i.Store().Begin()
	for _, item := range podItems(pods, pods, 1) {
		state.Add(item)
	}
	state.Commit(strconv.Itoa(pods))

	var items []feed.Item
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%batch == 0 {
			for range handlers {
				<-through
			}
			b.StopTimer() // the objects are the source's to make
			items = podItems(batch, pods, pods+n+1)
			b.StartTimer()
		}
		i.Store().Apply(watch.Modified, items[n%batch])
	}
	cancel()
	if err := <-stopped; err != nil {
		b.Fatal(err)
	}
}
