// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// eventObjects is the number of objects that the updates are distributed over.
const eventObjects = 10_000

// eventPipeline is row event-pipeline: the internal path of an event, without a channel. A source
// passes items to the reflector, which go through the store (with an index by namespace), the log
// and one handler. The time is from the first of many events to the return of the last call of the
// handler, divided by their number. Row event-latency is the same through a watch.
func eventPipeline(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Row: "event-pipeline", Setup: "reflector to one handler, without a watch", Sides: bothSides()[:1],
		Metrics: []harness.Metric{{Name: "time of an event", Unit: "µs", Goal: harness.Within(0.4, "µs").MissedBecause("It was met on a faster processor only.")}, {Name: "CPU of an event", Unit: "µs", Detail: true}},
		Prepare: func() ([]harness.Measure, error) { return pushItems(scale) },
	}}
}

// pushItems sends the events. The objects consist of metadata, so that the garbage collector has
// little to scan.
func pushItems(scale Scale) ([]harness.Measure, error) {
	objects := smallObjects(eventObjects)
	var initial, items []feed.Item
	for _, object := range objects {
		initial = append(initial, itemOf(object))
	}
	for i := range scale.Events {
		items = append(items, itemOf(withVersion(objects[scatter(i, len(objects))], firstVersion+1+i)))
	}
	return []harness.Measure{func() ([]float64, error) {
		source := itemSource{initial, items, make(chan struct{})}
		engine := newEngine(source)
		count := newCountdown(len(items))
		handler := informer.HandlerConfig{Name: "bench", EveryEvent: true}
		handler.OnEvent = func(e informer.Event) {
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
		figures, err := timePerEvent(len(items), func() { close(source.begin) }, count)
		if err != nil {
			return nil, err
		}
		return figures, running.stop()
	}}, nil
}

// newEngine returns an informer as package cache configures it.
func newEngine(source feed.Source) *informer.Informer {
	config := informer.Config{Name: "bench", Store: storeConfig()}
	config.Reflector.Source = source
	config.Reflector.Report = func(_ context.Context, err error) { panic(err) }
	return informer.New(config)
}

// itemSource lists the initial items. Its watch sends the others once begin is closed.
type itemSource struct {
	initial, items []feed.Item
	begin          chan struct{}
}

// List adds the initial items.
func (s itemSource) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	for _, item := range s.initial {
		if err := add(item); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(firstVersion)}, nil
}

// Watch sends the items and returns when ctx ends.
func (s itemSource) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
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

// Traits implements feed.Source.
func (itemSource) Traits() feed.Traits { return feed.Traits{} }
