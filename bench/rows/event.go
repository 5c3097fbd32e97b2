package rows

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
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
// The first row is ours alone, without a channel: the items are pushed into
// internal/informer's reflector, and go through store (with an index by namespace),
// log and one handler. The second is P4 with one handler: the events wait in a
// watch's channel, and go through the public informers of both sides.

// eventKeys is over how many objects the updates are spread.
const eventKeys = 10_000

func event(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Name: "event", What: "item through reflector, store, log, one handler", Sides: versus()[:1],
		Metrics: []harness.Metric{{What: "time", Unit: "µs", Goal: harness.Within(0.4, "µs")}, {What: "CPU", Unit: "µs"}},
		Prepare: func() ([]harness.Measure, error) { return pushed(scale) },
	}, {
		Name: "P4", What: "watch event through watch.Interface to 1 handler", Sides: versus(),
		Metrics: []harness.Metric{{What: "time", Unit: "µs", Goal: harness.AtMost(1.0 / 3)}, {What: "CPU", Unit: "µs"}},
		Prepare: func() ([]harness.Measure, error) { return watched(scale) },
	}}
}

// updates returns so many new states of the Pods, each later than the one before.
func updates(pods []corev1.Pod, n int) []*corev1.Pod {
	states := make([]*corev1.Pod, n)
	for i := range states {
		pod := pods[scatter(i, len(pods))]
		pod.ResourceVersion = strconv.Itoa(firstVersion + 1 + i)
		states[i] = &pod
	}
	return states
}

// counter closes done at the last of n calls. One goroutine calls it.
type counter struct {
	n, seen int
	done    chan struct{}
}

func newCounter(n int) *counter { return &counter{n: n, done: make(chan struct{})} }

func (c *counter) count() {
	if c.seen++; c.seen == c.n {
		close(c.done)
	}
}

// time returns the time and the processor time, in microseconds an event, from a
// call of begin until everything is counted.
func (c *counter) time(begin func()) ([]float64, error) {
	start, used := time.Now(), harness.CPU()
	begin()
	select {
	case <-c.done:
		return []float64{float64(time.Since(start).Nanoseconds()) / float64(c.n) / 1000, cpuEach(used, c.n) / 1000}, nil
	case <-time.After(syncTimeout):
		return nil, fmt.Errorf("some of %d events have not been delivered after %v", c.n, syncTimeout)
	}
}

// watched sends the events through a channel that holds all of them.
func watched(scale Scale) ([]harness.Measure, error) {
	pods := smallPods(eventKeys, namespaceOf(0))
	states := updates(pods, scale.Events)
	measure := func(side start) harness.Measure {
		return func() ([]float64, error) {
			watcher := watch.NewFakeWithChanSize(len(states), false)
			count := newCounter(len(states))
			informer, err := side(newCollection(pods, watcher), count.count)
			if err != nil {
				return nil, err
			}
			figures, err := count.time(func() {
				for _, pod := range states {
					watcher.Modify(pod)
				}
			})
			if err != nil {
				return nil, err
			}
			return figures, informer.stop()
		}
	}
	return []harness.Measure{measure(startNewInformer), measure(startClientGo(false))}, nil
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
		engine.AddHandler("bench", func(e informer.Event[*metav1.PartialObjectMetadata]) {
			if e.Type == informer.Update {
				count.count()
			}
		}, 0)
		running, err := runUntilSynced(nil, engine.Run, engine.WaitForSync)
		if err != nil {
			return nil, err
		}
		figures, err := count.time(func() { close(source.begin) })
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
