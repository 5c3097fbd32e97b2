package rows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
)

// P5 is the situation of client-go's own BenchmarkSharedIndexInformer: an informer
// with an index by namespace and one handler, fed by a watch of which the channel
// holds one event, with at most ten events between the watch and the end of the
// handler's call; and readers who list all Pods as fast as they can.
//
// It is read twice: by namespace, as client-go's benchmark does and a generated
// namespace lister would (ours with a Lister), and with List. A third time
// the stores are alone: one goroutine calls Update and nobody passes anything on;
// the design sets no goal for that.

// Ten or eighty goroutines that compute and allocate leave little to goroutines
// that wake each other, whatever these do. How much, on this machine at this time,
// says the third side: the same producer, channel, handler and listers with a
// goroutine in between that does nothing, and a slice to list.

// inFlight is how many events are on their way at most.
const inFlight = 10

func listBesideWrites(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, p := range []struct {
		readers int
		goal    float64
		window  time.Duration
		rounds  int // zero: as many as of the others
	}{{10, 100, scale.Window, 0}, {80, 1000, 3 * scale.Window, 3}} { // 80 goroutines that compute take turns of half a second
		add := func(what string, sides []string, writes harness.Goal, prepare func() ([]harness.Measure, error)) {
			experiments = append(experiments, harness.Experiment{
				Name: "P5", What: fmt.Sprintf("%s, %d listers", what, p.readers), Sides: sides, Prepare: prepare, Rounds: p.rounds,
				Metrics: []harness.Metric{
					{What: "writes", Unit: "1/s", Goal: writes},
					{What: "lists", Unit: "1/s", Goal: harness.AtLeast(1)},
				},
			})
		}
		goal := harness.AtLeast(p.goal)
		sides := append(versus(), "no cache")
		add("informer, by namespace", sides, goal, informersRead(scale, p.window, p.readers, startShared(true), startClientGo(true), startNothing))
		add("informer, List", sides, goal, informersRead(scale, p.window, p.readers, startShared(false), startClientGo(false), startNothing))
		add("store alone, List", versus(), harness.Goal{}, storesRead(scale, p.window, p.readers))
	}
	return experiments
}

// informersRead prepares informers of the same Pods, each started anew for each
// round.
func informersRead(scale Scale, window time.Duration, readers int, sides ...start) func() ([]harness.Measure, error) {
	return func() ([]harness.Measure, error) {
		pods := smallPods(scale.Listed, namespaceOf(0))
		var measures []harness.Measure
		for _, side := range sides {
			measures = append(measures, func() ([]float64, error) { return informerRead(window, readers, pods, side) })
		}
		return measures, nil
	}
}

func informerRead(window time.Duration, readers int, pods []corev1.Pod, side start) ([]float64, error) {
	watcher := watch.NewFakeWithChanSize(1, false)
	slots := make(chan struct{}, inFlight)
	var writes atomic.Int64
	informer, err := side(newCollection(pods, watcher), func() {
		writes.Add(1)
		<-slots
	})
	if err != nil {
		return nil, err
	}
	if n := informer.list(); n != len(pods) {
		return nil, errors.Join(fmt.Errorf("%d Pods listed instead of %d", n, len(pods)), informer.stop())
	}
	figures := rates(window, readers, func() { informer.list() }, &writes, func(stop <-chan struct{}) {
		for i := 1; ; i++ {
			select {
			case slots <- struct{}{}:
			case <-stop:
				return
			}
			pod := pods[scatter(i, len(pods))]
			pod.ResourceVersion = strconv.Itoa(firstVersion + i)
			watcher.Modify(&pod)
		}
	})
	return figures, informer.stop()
}

// storesRead prepares both stores, which last for all rounds.
func storesRead(scale Scale, window time.Duration, readers int) func() ([]harness.Measure, error) {
	return func() ([]harness.Measure, error) {
		ours, theirs := newStore[*corev1.Pod](), newIndexer()
		pods := smallPods(scale.Listed, namespaceOf(0))
		for i := range pods {
			if err := errors.Join(ours.Add(&pods[i]), theirs.Add(&pods[i])); err != nil {
				return nil, err
			}
		}
		return []harness.Measure{
			storeRead(window, readers, pods, ours.Update, func() { ours.List() }),
			storeRead(window, readers, pods, func(pod *corev1.Pod) error { return theirs.Update(pod) }, func() { theirs.List() }),
		}, nil
	}
}

func storeRead(window time.Duration, readers int, pods []corev1.Pod, update func(*corev1.Pod) error, list func()) harness.Measure {
	return func() (figures []float64, err error) {
		var writes atomic.Int64
		figures = rates(window, readers, list, &writes, func(stop <-chan struct{}) {
			for i := 1; err == nil; i++ {
				select {
				case <-stop:
					return
				default:
				}
				pod := pods[scatter(i, len(pods))]
				pod.ResourceVersion = strconv.Itoa(firstVersion + i)
				err = update(&pod)
				writes.Add(1)
			}
		})
		return figures, err
	}
}

// rates lets one writer and so many readers run for a while, and returns how many
// writes and reads there were in a second. It returns when all of them have ended.
func rates(window time.Duration, readers int, read func(), writes *atomic.Int64, write func(stop <-chan struct{})) []float64 {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var reads atomic.Int64
	for range readers {
		running.Go(func() {
			for ctx.Err() == nil {
				read()
				reads.Add(1)
			}
		})
	}
	start, before := time.Now(), writes.Load()
	running.Go(func() { write(ctx.Done()) })
	<-time.After(window)
	seconds, written, done := time.Since(start).Seconds(), writes.Load()-before, reads.Load()
	cancel()
	running.Wait()
	return []float64{float64(written) / seconds, float64(done) / seconds}
}
