// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

const (
	// resumedInformers is the number of informers whose watches end together.
	resumedInformers = 50
	// watchLifetime is how long their watches are open before. client-go lists again after a watch
	// of less than a second.
	watchLifetime = 1500 * time.Millisecond
	// watchTimeout is longer than the timeout that any watch asks for.
	watchTimeout = 10 * time.Minute
)

const openingCPU = "All informers share the processors: a third of the CPU opens the watch, in a goroutine of its own since a function may ignore its context, " +
	"a sixth schedules goroutines and grows their stacks, a sixth compares and applies the change."

// watchResume is row watch-resume: the time from the end of a watch until a handler has received
// the change that the server makes then, the median of 50 informers of one server. A watch that
// lived out its timeout is one whose informer sees ten minutes pass on its clock.
func watchResume(Scale) (experiments []harness.Experiment) {
	fresh := harness.Metric{Name: "age of Status.FreshAt when the change arrives", Unit: "ms", Detail: true}
	for _, e := range []struct {
		how     string
		elapsed time.Duration
		goal    harness.Goal
	}{
		{"timed out", watchTimeout, harness.AtMost(1).MissedBecause(openingCPU)},
		{"ended early", 0, harness.AtMostMore(100, "ms")},
	} {
		experiments = append(experiments, harness.Experiment{
			Row: "watch-resume", Setup: "after a watch that " + e.how, Sides: bothSides(),
			Metrics: []harness.Metric{{Name: "time until a change is delivered", Unit: "ms", Goal: e.goal}, fresh},
			Prepare: func() ([]harness.Measure, error) {
				return []harness.Measure{
					func() ([]float64, error) { return resumeWatches(startResumedInformer, e.elapsed) },
					func() ([]float64, error) { return resumeWatches(startResumedClientGo, e.elapsed) },
				}, nil
			},
		})
	}
	return experiments
}

// forwardClock is the real clock, which can be put forward.
type forwardClock struct {
	clock.RealClock
	forward atomic.Int64
}

func (c *forwardClock) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.forward.Load())) }
func (c *forwardClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// resumedPods is a server of Pods.
type resumedPods = fake.ListerWatcher[*corev1.Pod]

// resumedInformer starts an informer that calls onUpdate with the time of an update and the age of
// its Status.Freshness.FreshAt in milliseconds, NaN if it has none, and returns a function that
// waits until it has synced.
type resumedInformer func(ctx context.Context, server *resumedPods, clock *forwardClock, onUpdate func(at time.Time, age float64)) (wait func() error)

func startResumedInformer(ctx context.Context, server *resumedPods, clock *forwardClock, onUpdate func(at time.Time, age float64)) func() error {
	shared := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Clock: clock})
	_, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) {
		at := time.Now()
		onUpdate(at, float64(clock.Since(shared.Status().Freshness.FreshAt).Microseconds())/1000)
	}}, cache.HandlerOptions{})
	go func() { _ = shared.Run(ctx) }()
	return func() error { return errors.Join(err, shared.WaitForSync(ctx)) }
}

func startResumedClientGo(ctx context.Context, server *resumedPods, _ *forwardClock, onUpdate func(at time.Time, age float64)) func() error {
	shared := clientcache.NewSharedIndexInformerWithOptions(
		clientGoListWatch{&clientcache.ListWatch{ListWithContextFunc: server.List, WatchFuncWithContext: server.Watch}},
		&corev1.Pod{}, clientcache.SharedIndexInformerOptions{})
	_, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { onUpdate(time.Now(), math.NaN()) }})
	go shared.RunWithContext(ctx)
	return func() error {
		if !clientcache.WaitForCacheSync(ctx.Done(), shared.HasSynced) {
			return errors.Join(err, errors.New("not synced"))
		}
		return err
	}
}

// resumeWatches ends the watches of many informers, changes a Pod, and returns the medians of the
// times until the informers' handlers have received the change, and of the ages of their FreshAt.
func resumeWatches(start resumedInformer, elapsed time.Duration) ([]float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
	defer cancel()
	server, clock := fake.NewListerWatcher(&corev1.Pod{}), &forwardClock{}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(0), Name: "pod"}}
	server.Create(pod)
	type received struct {
		at  time.Time
		age float64
	}
	updates := make(chan received, 2*resumedInformers)
	for range resumedInformers {
		wait := start(ctx, server, clock, func(at time.Time, age float64) { updates <- received{at, age} })
		if err := wait(); err != nil {
			return nil, err
		}
	}
	<-time.After(watchLifetime)
	clock.forward.Store(int64(elapsed))
	ended := time.Now()
	server.CloseWatches()
	server.Update(pod)
	var times, ages []float64
	for range resumedInformers {
		select {
		case update := <-updates:
			times = append(times, float64(update.at.Sub(ended).Microseconds())/1000)
			ages = append(ages, update.age)
		case <-ctx.Done():
			return nil, fmt.Errorf("only %d of %d informers received the change", len(times), resumedInformers)
		}
	}
	return []float64{harness.Median(times), harness.Median(ages)}, nil
}
