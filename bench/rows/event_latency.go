// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// eventLatency is row event-latency: a watch event through a shared informer to 1, 4 and 16
// handlers, each of which receives every event. The watch's channel has room for all events. The
// time is from sending the first until the last handler has received the last, divided by the
// number of events.
func eventLatency(scale Scale) []harness.Experiment {
	return watchEvents(scale, "", bothSides(), startSharedInformer(false), startClientGo(false))
}

func watchEvents(scale Scale, path string, sides []string, starts ...startFunc) (experiments []harness.Experiment) {
	const reason = "What row event-pipeline measures alone takes longer than the goals allow."
	for _, p := range []struct {
		handlers int
		to       string
		goal     float64
	}{{1, "1 handler", 1.0 / 3}, {4, "4 handlers", 1.0 / 5}, {16, "16 handlers", 1.0 / 10}} {
		experiments = append(experiments, harness.Experiment{
			Row: "event-latency", Setup: path + p.to, Sides: sides,
			Metrics: []harness.Metric{{Name: "time of an event", Unit: "µs", Goal: harness.AtMost(p.goal).MissedBecause(reason)}, {Name: "CPU of an event", Unit: "µs", Detail: true}},
			Prepare: func() ([]harness.Measure, error) { return sendWatchEvents(scale, p.handlers, starts), nil },
		})
	}
	return experiments
}

// sendWatchEvents sends the events through a channel that has room for all of them.
func sendWatchEvents(scale Scale, handlers int, starts []startFunc) (measures []harness.Measure) {
	pods := smallPods(eventObjects, namespaceOf(0))
	states := updates(pods, scale.Events)
	for _, start := range starts {
		measures = append(measures, func() ([]float64, error) {
			watcher := watch.NewFakeWithChanSize(len(states), false)
			countdowns, onUpdate := newCountdowns(handlers, len(states))
			informer, err := start(newListWatch(pods, watcher), onUpdate...)
			if err != nil {
				return nil, err
			}
			figures, err := timePerEvent(len(states), func() {
				for _, pod := range states {
					watcher.Modify(pod)
				}
			}, countdowns...)
			if err != nil {
				return nil, err
			}
			return figures, informer.stop()
		})
	}
	return measures
}

// countdown closes done at the n-th call of count. One goroutine calls it.
type countdown struct {
	n, calls int
	done     chan struct{}
}

func newCountdown(n int) *countdown { return &countdown{n: n, done: make(chan struct{})} }

// newCountdowns returns a countdown for each handler, and their count functions.
func newCountdowns(handlers, n int) (countdowns []*countdown, count []func()) {
	for range handlers {
		c := newCountdown(n)
		countdowns, count = append(countdowns, c), append(count, c.count)
	}
	return countdowns, count
}

func (c *countdown) count() {
	if c.calls++; c.calls == c.n {
		close(c.done)
	}
}

// timePerEvent calls send and waits for all countdowns. It returns the time and the processor time
// of each of the n events, in microseconds.
func timePerEvent(n int, send func(), countdowns ...*countdown) ([]float64, error) {
	started, cpu, timeout := time.Now(), process.CPU(), time.After(syncTimeout)
	send()
	for _, c := range countdowns {
		select {
		case <-c.done:
		case <-timeout:
			return nil, fmt.Errorf("not all of %d events were delivered within %v", n, syncTimeout)
		}
	}
	return []float64{float64(time.Since(started).Nanoseconds()) / float64(n) / 1000, cpuPer(cpu, n) / 1000}, nil
}
