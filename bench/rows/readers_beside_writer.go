// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// Row readers-beside-writer is the setup of client-go's BenchmarkSharedIndexInformer: an informer
// with an index by namespace and one handler, with at most ten events between the watch, whose
// channel holds one, and the end of the handler's call. Meanwhile readers list all Pods as fast as
// they can.
//
// The readers list by namespace, as client-go's benchmark does and generated listers do, or with
// List. In a third setup a goroutine updates the store alone, without an informer.
//
// Readers that compute and allocate leave little time to goroutines that wake each other. The side
// "no cache" shows how little: it has the same producer, channel, handler and readers, but passes
// events on without storing them, and lists a slice.

// inFlight is the maximum number of events between the watch and the handler.
const inFlight = 10

func readersBesideWriter(scale Scale) []harness.Experiment {
	var experiments []harness.Experiment
	for _, p := range []struct {
		readers int
		goal    float64
		window  time.Duration
		rounds  int // the maximum, as in Experiment.MaxRounds
	}{{10, 100, scale.Window, 0}, {80, 1000, 3 * scale.Window, 3}} { // 80 busy goroutines take turns of half a second
		add := func(setup string, sides []string, writes harness.Goal, prepare func() ([]harness.Measure, error)) {
			experiments = append(experiments, harness.Experiment{
				Row: "readers-beside-writer", Setup: fmt.Sprintf("%s, %d readers", setup, p.readers), Sides: sides,
				Metrics: readersMetrics(writes, setup != "by namespace"), Prepare: prepare, MaxRounds: p.rounds,
			})
		}
		goal := harness.AtLeast(p.goal)
		sides := append(bothSides(), "no cache")
		add("by namespace", sides, goal, readInformers(scale, p.window, p.readers, startSharedInformer(true), startClientGo(true), startNoCache))
		add("List", sides, goal, readInformers(scale, p.window, p.readers, startSharedInformer(false), startClientGo(false), startNoCache))
		add("store alone, List", bothSides(), harness.Goal{}, readStores(scale, p.window, p.readers))
	}
	return experiments
}

func readersMetrics(writes harness.Goal, detail bool) []harness.Metric {
	lists := harness.AtLeast(1).MissedBecause("Readers of long lists yield the processor to a waiting writer, which writes about a hundred times as often as client-go's, or more.")
	return []harness.Metric{{Name: "writes", Unit: "1/s", Goal: writes, Detail: detail}, {Name: "lists", Unit: "1/s", Goal: lists, Detail: detail}}
}

// readInformers prepares informers of the same Pods. Each round starts new ones.
func readInformers(scale Scale, window time.Duration, readers int, starts ...startFunc) func() ([]harness.Measure, error) {
	return func() ([]harness.Measure, error) {
		pods := smallPods(scale.Listed, namespaceOf(0))
		var measures []harness.Measure
		for _, start := range starts {
			measures = append(measures, func() ([]float64, error) { return readInformer(window, readers, pods, start) })
		}
		return measures, nil
	}
}

func readInformer(window time.Duration, readers int, pods []corev1.Pod, start startFunc) ([]float64, error) {
	watcher := watch.NewFakeWithChanSize(1, false)
	slots := make(chan struct{}, inFlight)
	var writes atomic.Int64
	informer, err := start(newListWatch(pods, watcher), func() {
		writes.Add(1)
		<-slots
	})
	if err != nil {
		return nil, err
	}
	if n := informer.list(); n != len(pods) {
		return nil, errors.Join(fmt.Errorf("listed %d Pods, want %d", n, len(pods)), informer.stop())
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

// readStores prepares both stores, which are used in all rounds.
func readStores(scale Scale, window time.Duration, readers int) func() ([]harness.Measure, error) {
	return func() ([]harness.Measure, error) {
		ours, theirs := newStore[*corev1.Pod](), newIndexer()
		pods := smallPods(scale.Listed, namespaceOf(0))
		for i := range pods {
			if err := errors.Join(ours.Add(&pods[i]), theirs.Add(&pods[i])); err != nil {
				return nil, err
			}
		}
		return []harness.Measure{
			readStore(window, readers, pods, ours.Update, func() { ours.List() }),
			readStore(window, readers, pods, func(pod *corev1.Pod) error { return theirs.Update(pod) }, func() { theirs.List() }),
		}, nil
	}
}

func readStore(window time.Duration, readers int, pods []corev1.Pod, update func(*corev1.Pod) error, list func()) harness.Measure {
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

// rates runs one writer and several readers for the window and returns the writes and the reads per
// second. It returns after all of them have ended.
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
