package rows

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
)

// The way of one event: the time from the first of many being there to the last
// one's handler having returned, and the processor time of all goroutines, divided
// by their number. The objects exist before.
//
// Here it is ours alone, without a channel: the items are pushed into
// internal/informer's reflector, and go through store (with an index by namespace),
// log and one handler. P4 is the same through a watch.

// eventKeys is over how many objects the updates are spread.
const eventKeys = 10_000

func event(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Name: "event", What: "item through reflector, store, log, one handler", Sides: versus()[:1],
		Metrics: []harness.Metric{{What: "time", Unit: "µs", Goal: harness.Within(0.4, "µs")}, {What: "CPU", Unit: "µs"}},
		Prepare: func() ([]harness.Measure, error) { return pushed(scale) },
	}}
}

// pushed sends the events without a channel. The objects are nothing but metadata:
// the collector goes through all of them that wait, which is no part of the way.
func pushed(scale Scale) ([]harness.Measure, error) {
	objects := smallObjects(eventKeys)
	var first, items []feed.Item
	for _, object := range objects {
		first = append(first, itemOf(object))
	}
	for i := range scale.Events {
		items = append(items, itemOf(nextState(objects[scatter(i, len(objects))], firstVersion+1+i)))
	}
	return []harness.Measure{func() ([]float64, error) {
		source := pushSource{first, items, make(chan struct{})}
		engine := newEngine[*metav1.PartialObjectMetadata](source)
		count := newCounter(len(items))
		handler := informer.HandlerConfig[*metav1.PartialObjectMetadata]{Name: "bench", Delivery: informer.EveryEvent}
		handler.OnEvent = func(e informer.Event[*metav1.PartialObjectMetadata]) {
			if e.Type == informer.Update {
				count.count()
			}
		}
		if _, err := engine.Add(handler); err != nil {
			return nil, err
		}
		running, err := runUntilSynced(nil, engine.Run, engine.WaitForSync)
		if err != nil {
			return nil, err
		}
		figures, err := timeEach(len(items), func() { close(source.begin) }, count)
		if err != nil {
			return nil, err
		}
		return figures, running.stop()
	}}, nil
}

// pushSource lists its first items, and pushes the others once begin is closed.
type pushSource struct {
	first, items []feed.Item
	begin        chan struct{}
}

// List passes on the first items.
func (s pushSource) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	for _, item := range s.first {
		if err := add(item); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(firstVersion)}, nil
}

// Watch pushes, and waits for the end.
func (s pushSource) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	select {
	case <-s.begin:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, item := range s.items {
		if err := events.Event(watch.Modified, item); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}
