// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// clientGoShare divides the updates that client-go's handler is sent. Its backlog holds every
// update, so its growth is scaled up.
const clientGoShare = 5

// blockedHandler is row blocked-handler: the growth of the heap while a handler blocks in its first
// update and further updates of 10,000 Pods arrive. By default our backlog is bounded by the number
// of objects; the goal is two states and 200 bytes of each. With EveryEvent it holds every update,
// as client-go's does. This is measured with packed objects: small Pods, which differ in their
// versions only, and real ones.
func blockedHandler(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		{
			Row:   "blocked-handler",
			Setup: fmt.Sprintf("%d updates of %d Pods", scale.Updates, eventObjects),
			Sides: bothSides(), MaxRounds: 1,
			Metrics: []harness.Metric{
				{Name: "heap growth", Unit: "MB"},
				{Name: "heap growth / (two states + 200 B) per Pod", Unit: "x", Goal: harness.Within(1, "x")},
			},
			Prepare: func() ([]harness.Measure, error) {
				bound := float64(eventObjects) * (2*podSize() + 200)
				growth := func(start startBlockingFunc, share int) harness.Measure {
					return func() ([]float64, error) {
						growth, err := heapGrowth(scale.Updates/share, newSmallPodSource(), start)
						return []float64{growth * float64(share) / 1e6, growth * float64(share) / bound}, err
					}
				}
				coalescing := startBlockingShared(cache.InformerOptions[*corev1.Pod]{}, false)
				return []harness.Measure{growth(coalescing, 1), growth(startBlockingClientGo, clientGoShare)}, nil
			},
		},
		everyEvent(scale.Updates/clientGoShare, fmt.Sprintf("%d small Pods", eventObjects), harness.Goal{}, newSmallPodSource),
		everyEvent(scale.Updates/20, fmt.Sprintf("%d Pods, %v", realPods, perWorkload), harness.AtMost(1.0/8), newRealPodSource),
	}
}

// everyEvent measures the backlog of a blocked handler with EveryEvent.
func everyEvent(n int, pods string, goal harness.Goal, newSource func() podSource) harness.Experiment {
	return harness.Experiment{
		Row: "blocked-handler", Setup: fmt.Sprintf("EveryEvent, packed, %d updates of %s", n, pods),
		Sides: []string{child.Packed, child.ClientGo, child.Kinformer}, MaxRounds: 1,
		Metrics: []harness.Metric{{Name: "heap growth per update", Unit: "B", Goal: goal}},
		Prepare: func() (measures []harness.Measure, err error) {
			for _, start := range []startBlockingFunc{
				startBlockingShared(cache.InformerOptions[*corev1.Pod]{Packed: true}, true), startBlockingClientGo,
				startBlockingShared(cache.InformerOptions[*corev1.Pod]{}, true),
			} {
				measures = append(measures, func() ([]float64, error) {
					growth, err := heapGrowth(n, newSource(), start)
					return []float64{max(0, growth) / float64(n)}, err
				})
			}
			return measures, nil
		},
	}
}

// podSource makes the Pods and their updates.
type podSource interface {
	initial() []corev1.Pod
	// next returns the i-th update.
	next(i int) (*corev1.Pod, error)
}

// smallPodSource makes Pods that share everything except their versions.
type smallPodSource struct{ pods []corev1.Pod }

func newSmallPodSource() podSource { return &smallPodSource{smallPods(eventObjects, namespaceOf(0))} }

func (s *smallPodSource) initial() []corev1.Pod           { return s.pods }
func (s *smallPodSource) next(i int) (*corev1.Pod, error) { return nextPod(s.pods, i), nil }

// realPodSource makes Pods of a data set. It decodes each update, as a client does.
type realPodSource struct {
	pods []corev1.Pod
	raw  [][]byte
}

// realPods is the number of Pods of a realPodSource.
const realPods = eventObjects / 10

func newRealPodSource() podSource {
	s := &realPodSource{}
	for _, pod := range dataset.NewPods(perWorkload, 1).Take(realPods) {
		raw, err := pod.Marshal()
		if err != nil {
			panic(err) // a Pod can always be encoded
		}
		s.pods, s.raw = append(s.pods, *pod), append(s.raw, raw)
	}
	return s
}

func (s *realPodSource) initial() []corev1.Pod { return s.pods }

func (s *realPodSource) next(i int) (*corev1.Pod, error) {
	pod := new(corev1.Pod)
	err := pod.Unmarshal(s.raw[scatter(i, len(s.raw))])
	pod.ResourceVersion = dataset.Version(firstUpdate + i)
	return pod, err
}

// firstUpdate is the version of the first update, later than those of the initial Pods.
const firstUpdate = 10_000_000

// podSize returns the memory of one state of a Pod, as updates makes it.
func podSize() float64 {
	const n = 10_000
	pods := smallPods(n, namespaceOf(0))
	before := process.LiveHeap()
	states := updates(pods, n)
	size := math.Round((process.LiveHeap() - before) / n)
	runtime.KeepAlive([]any{pods, states})
	return size
}

// startBlockingFunc starts an informer with a handler that calls block on every update. waitFor
// blocks until the informer has processed all events up to a version.
type startBlockingFunc func(lw listWatch, block func()) (informer runningInformer, waitFor func(version string) error, err error)

// heapGrowth returns the growth of the heap, in bytes, from the first update, in which the handler
// blocks, until n further updates have been processed.
func heapGrowth(n int, source podSource, start startBlockingFunc) (growth float64, err error) {
	watcher := watch.NewFakeWithChanSize(1000, false)
	blocked, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	informer, waitFor, err := start(newListWatch(source.initial(), watcher), func() {
		once.Do(func() { close(blocked) })
		<-resume
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, informer.stop()) }()
	defer close(resume)
	if _, err := sendUpdates(watcher, source, 0, 1); err != nil {
		return 0, err
	}
	<-blocked
	before := process.LiveHeap()
	last, err := sendUpdates(watcher, source, 1, n)
	if err != nil {
		return 0, err
	}
	err = waitFor(last)
	growth = process.LiveHeap() - before
	runtime.KeepAlive(source)
	return growth, err
}

// sendUpdates sends n updates and returns the version of the last.
func sendUpdates(watcher *watch.FakeWatcher, source podSource, first, n int) (last string, err error) {
	for i := first; i < first+n; i++ {
		pod, err := source.next(i)
		if err != nil {
			return "", err
		}
		watcher.Modify(pod)
		last = pod.ResourceVersion
	}
	return last, nil
}

func startBlockingShared(options cache.InformerOptions[*corev1.Pod], everyEvent bool) startBlockingFunc {
	return func(lw listWatch, block func()) (runningInformer, func(string) error, error) {
		shared := newSharedInformer(lw, options)
		handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { block() }}
		registration, err := shared.AddEventHandler(handler, cache.HandlerOptions{EveryEvent: everyEvent})
		if err != nil {
			return runningInformer{}, nil, err
		}
		informer, err := runSharedInformer(shared, nil, []*cache.Registration{registration})
		return informer, func(version string) error {
			ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
			defer cancel()
			return shared.WaitForResourceVersion(ctx, version)
		}, err
	}
}

// startBlockingClientGo adds a second handler, from which waitFor learns the current version.
func startBlockingClientGo(lw listWatch, block func()) (runningInformer, func(string) error, error) {
	shared := newClientGoInformer(lw)
	first, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { block() }})
	if err != nil {
		return runningInformer{}, nil, err
	}
	versions := make(chan string, 1) // the newest
	_, err = shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		select {
		case <-versions:
		default:
		}
		versions <- obj.(*corev1.Pod).ResourceVersion
	}})
	if err != nil {
		return runningInformer{}, nil, err
	}
	informer, err := runSharedIndexInformer(shared, nil, []clientcache.InformerSynced{first.HasSynced})
	return informer, func(version string) error {
		for current := range versions {
			if current == version {
				break
			}
		}
		return nil
	}, err
}
