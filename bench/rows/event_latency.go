package rows

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
)

// P4 is the way of one event from a watch's channel, in which all of them wait, through
// the shared informers of both sides to 1, 4 and 16 handlers, every event to each. The
// time is until the last handler has had the last.

func eventToHandlers(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, p := range []struct {
		handlers int
		what     string
		goal     float64
	}{{1, "1 handler", 1.0 / 3}, {4, "4 handlers", 1.0 / 5}, {16, "16 handlers", 1.0 / 10}} {
		experiments = append(experiments, harness.Experiment{
			Name: "P4", What: "watch event through watch.Interface to " + p.what, Sides: versus(),
			Metrics: []harness.Metric{{What: "time", Unit: "µs", Goal: harness.AtMost(p.goal)}, {What: "CPU", Unit: "µs"}},
			Prepare: func() ([]harness.Measure, error) {
				return watched(scale, p.handlers, startShared(false), startClientGo(false))
			},
		})
	}
	return experiments
}

// watched sends the events through a channel that holds all of them.
func watched(scale Scale, handlers int, sides ...start) (measures []harness.Measure, err error) {
	pods := smallPods(eventKeys, namespaceOf(0))
	states := updates(pods, scale.Events)
	measure := func(side start) harness.Measure {
		return func() ([]float64, error) {
			watcher := watch.NewFakeWithChanSize(len(states), false)
			counts, told := newCounters(handlers, len(states))
			informer, err := side(newCollection(pods, watcher), told...)
			if err != nil {
				return nil, err
			}
			figures, err := timeEach(len(states), func() {
				for _, pod := range states {
					watcher.Modify(pod)
				}
			}, counts...)
			if err != nil {
				return nil, err
			}
			return figures, informer.stop()
		}
	}
	for _, side := range sides {
		measures = append(measures, measure(side))
	}
	return measures, nil
}

// updates returns so many new states of the Pods, each later than the one before.
func updates(pods []corev1.Pod, n int) []*corev1.Pod {
	states := make([]*corev1.Pod, n)
	for i := range states {
		states[i] = nextPod(pods, i)
	}
	return states
}

// nextPod returns a new state of one of the Pods, the i-th.
func nextPod(pods []corev1.Pod, i int) *corev1.Pod {
	pod := pods[scatter(i, len(pods))]
	pod.ResourceVersion = strconv.Itoa(firstVersion + 1 + i)
	return &pod
}

// counter closes done at the last of n calls. One goroutine calls it.
type counter struct {
	n, seen int
	done    chan struct{}
}

func newCounter(n int) *counter { return &counter{n: n, done: make(chan struct{})} }

// newCounters returns counters and their functions, of one handler each.
func newCounters(handlers, n int) (counts []*counter, count []func()) {
	for range handlers {
		c := newCounter(n)
		counts, count = append(counts, c), append(count, c.count)
	}
	return counts, count
}

func (c *counter) count() {
	if c.seen++; c.seen == c.n {
		close(c.done)
	}
}

// timeEach returns the time and the processor time, in microseconds an event of n, from
// a call of begin until everything is counted.
func timeEach(n int, begin func(), counts ...*counter) ([]float64, error) {
	begun, used, late := time.Now(), harness.CPU(), time.After(syncTimeout)
	begin()
	for _, c := range counts {
		select {
		case <-c.done:
		case <-late:
			return nil, fmt.Errorf("some of %d events have not been delivered after %v", n, syncTimeout)
		}
	}
	return []float64{float64(time.Since(begun).Nanoseconds()) / float64(n) / 1000, cpuEach(used, n) / 1000}, nil
}
