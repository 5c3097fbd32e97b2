// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/metrics"
)

// observedHandlers is the number of handlers in row observed-events.
const observedHandlers = 4

// observedEvents is row observed-events: what it costs delivery that metrics are scraped and the
// debug page is read every second. Both sides are informers of one kind; the watch sends as many
// events as the informer takes, for a few seconds.
func observedEvents(scale Scale) []harness.Experiment {
	every := scale.Window * 2 / 3
	return []harness.Experiment{{
		Row: "observed-events", Setup: fmt.Sprintf("%d handlers, scraped every %v", observedHandlers, every),
		Sides:   []string{"kinformer, observed", "kinformer"},
		Metrics: []harness.Metric{{Name: "time of an event", Unit: "µs", Goal: harness.AtMost(1.05)}, {Name: "CPU of an event", Unit: "µs", Goal: harness.AtMost(1.05)}},
		Prepare: func() ([]harness.Measure, error) {
			pods := smallPods(eventObjects, namespaceOf(0))
			return []harness.Measure{
				streamEvents(scale, pods, startObserved(every)),
				streamEvents(scale, pods, startSharedInformer(false)),
			}, nil
		},
	}}
}

// streamEvents sends ten times scale.Events, and makes each when there is room for it.
func streamEvents(scale Scale, pods []corev1.Pod, start startFunc) harness.Measure {
	n := 10 * scale.Events
	return func() ([]float64, error) {
		watcher := watch.NewFakeWithChanSize(inFlight, false)
		countdowns, onUpdate := newCountdowns(observedHandlers, n)
		informer, err := start(newListWatch(pods, watcher), onUpdate...)
		if err != nil {
			return nil, err
		}
		figures, err := timePerEvent(n, func() {
			for i := range n {
				watcher.Modify(nextPod(pods, i))
			}
		}, countdowns...)
		return figures, errors.Join(err, informer.stop())
	}
}

// startObserved starts a SharedInformer as startSharedInformer does, and observes it until it
// stops.
func startObserved(every time.Duration) startFunc {
	return func(lw listWatch, onUpdate ...func()) (runningInformer, error) {
		shared := newSharedInformer(lw, cache.InformerOptions[*corev1.Pod]{})
		registrations, err := addHandlers(shared, onUpdate)
		if err != nil {
			return runningInformer{}, err
		}
		running, err := runSharedInformer(shared, nil, registrations)
		if err != nil {
			return running, err
		}
		stopInformer, stopObserving := running.stop, observe(shared, every)
		running.stop = func() error { return errors.Join(stopObserving(), stopInformer()) }
		return running, nil
	}
}

// observe scrapes the metrics of an informer and reads its debug page, at once and then at an
// interval.
func observe(informer cache.Viewable, every time.Duration) (stop func() error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(informer))
	handlers := []http.Handler{promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), debug.Handler(debug.Options{}, informer)}
	ctx, cancel := context.WithCancel(context.Background())
	var observing sync.WaitGroup
	var failed error
	observing.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for failed == nil && ctx.Err() == nil {
			failed = errors.Join(read(ctx, handlers[0]), read(ctx, handlers[1]))
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	})
	return func() error {
		cancel()
		observing.Wait()
		return failed
	}
}

// read reads a page.
func read(ctx context.Context, page http.Handler) error {
	response := httptest.NewRecorder()
	page.ServeHTTP(response, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	if response.Code != http.StatusOK || response.Body.Len() < 1000 {
		return fmt.Errorf("code %d, %d bytes", response.Code, response.Body.Len())
	}
	return nil
}
