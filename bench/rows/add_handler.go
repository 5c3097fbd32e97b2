// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
)

// additions is how often a handler is added in one round. The figures are medians of them.
const additions = 5

// addHandler is row add-handler: the effect of a new handler on the existing one. An informer of
// many objects delivers events to a handler, one after the other, while a second handler is added,
// until that has received all objects. The maximum latency shows whether the informer stopped
// meanwhile. Ours depends on the scheduler, since both handlers and the garbage collector compete
// for the processors, so the goal is for the 99th percentile.
func addHandler(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Row: "add-handler", Setup: fmt.Sprintf("%d objects", scale.Informed), Sides: bothSides(),
		Metrics: []harness.Metric{
			{Name: "99th percentile of another handler's latency", Unit: "ms", Goal: harness.Within(1, "ms")},
			{Name: "maximum of another handler's latency", Unit: "ms", Detail: true},
			{Name: "time of AddEventHandler", Unit: "ms"},
		},
		Prepare: func() ([]harness.Measure, error) {
			pods := smallPods(scale.Informed, namespaceOf(0))
			return []harness.Measure{measureAdditions(pods, startWithAddShared), measureAdditions(pods, startWithAddClientGo)}, nil
		},
	}}
}

// addFunc adds a handler. synced reports whether the handler has received all objects.
type addFunc func() (synced func() bool, err error)

// startWithAddFunc starts an informer with a handler, and returns a function that adds another.
type startWithAddFunc func(lw listWatch, onUpdate func()) (runningInformer, addFunc, error)

func measureAdditions(pods []corev1.Pod, start startWithAddFunc) harness.Measure {
	return func() ([]float64, error) {
		watcher := watch.NewFakeWithChanSize(1, false)
		updated := make(chan struct{}, 1)
		informer, add, err := start(newListWatch(pods, watcher), func() { updated <- struct{}{} })
		if err != nil {
			return nil, err
		}
		sent := 0
		send := func() (latency time.Duration) {
			pod := nextPod(pods, sent)
			sent++
			sentAt := time.Now()
			watcher.Modify(pod)
			<-updated
			return time.Since(sentAt)
		}
		for range 1000 {
			send()
		}
		var percentiles, maxima, durations []float64
		for range additions {
			latencies, duration, err := sendDuringAddition(add, send)
			if err != nil {
				return nil, errors.Join(err, informer.stop())
			}
			slices.Sort(latencies)
			percentiles, maxima = append(percentiles, ms(latencies[len(latencies)*99/100])), append(maxima, ms(latencies[len(latencies)-1]))
			durations = append(durations, ms(duration))
		}
		return []float64{harness.Median(percentiles), harness.Median(maxima), harness.Median(durations)}, informer.stop()
	}
}

// sendDuringAddition adds a handler and sends events until it has synced.
func sendDuringAddition(add addFunc, send func() time.Duration) (latencies []time.Duration, duration time.Duration, err error) {
	type addition struct {
		synced   func() bool
		duration time.Duration
		err      error
	}
	added := make(chan addition, 1)
	go func() {
		started := time.Now()
		synced, err := add()
		added <- addition{synced, time.Since(started), err}
	}()
	var result addition
	for result.synced == nil || !result.synced() {
		latencies = append(latencies, send())
		select {
		case result = <-added:
			if result.err != nil {
				return nil, 0, result.err
			}
		default:
		}
	}
	return latencies, result.duration, nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func startWithAddShared(lw listWatch, onUpdate func()) (runningInformer, addFunc, error) {
	shared := newSharedInformer(lw, cache.InformerOptions[*corev1.Pod]{})
	handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { onUpdate() }}
	first, err := shared.AddEventHandler(handler, cache.HandlerOptions{EveryEvent: true})
	if err != nil {
		return runningInformer{}, nil, err
	}
	informer, err := runSharedInformer(shared, nil, []*cache.Registration{first})
	return informer, func() (func() bool, error) {
		second, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{}, cache.HandlerOptions{})
		if err != nil {
			return nil, err
		}
		return second.HasSynced, nil
	}, err
}

func startWithAddClientGo(lw listWatch, onUpdate func()) (runningInformer, addFunc, error) {
	shared := newClientGoInformer(lw)
	first, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { onUpdate() }})
	if err != nil {
		return runningInformer{}, nil, err
	}
	informer, err := runSharedIndexInformer(shared, nil, []clientcache.InformerSynced{first.HasSynced})
	return informer, func() (func() bool, error) {
		second, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{})
		if err != nil {
			return nil, err
		}
		return second.HasSynced, nil
	}, err
}
