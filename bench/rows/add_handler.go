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

// What a handler's addition costs those that are there: events go, one after the other,
// to a handler of an informer of many objects while a second handler is added, until it
// has been told of all of them. The longest that one event took shows whether everybody
// stood still; of ours it is the scheduler's, since both handlers, the collector, and
// whoever else uses the machine want a processor. So the goal, which is about the others'
// own work, is for the 99th percentile.

// additions is how often a handler is added in one round; the median of them counts.
const additions = 5

func lateHandler(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Name: "late", What: fmt.Sprintf("a handler is added to an informer of %d objects", scale.Late), Sides: versus(),
		Metrics: []harness.Metric{
			{What: "99th percentile of the others' events", Unit: "ms", Goal: harness.Within(1, "ms")},
			{What: "the longest of them", Unit: "ms"},
			{What: "until AddEventHandler returns", Unit: "ms"},
		},
		Prepare: func() ([]harness.Measure, error) {
			pods := smallPods(scale.Late, namespaceOf(0))
			return []harness.Measure{delayed(pods, joinsShared), delayed(pods, joinsClientGo)}, nil
		},
	}}
}

// joins runs an informer with a handler, and returns what adds another one: add returns
// once it was added, with what waits until it has synced.
type joins func(c collection, onUpdate func()) (informer subject, add func() (synced func() bool, err error), err error)

func delayed(pods []corev1.Pod, side joins) harness.Measure {
	return func() ([]float64, error) {
		watcher := watch.NewFakeWithChanSize(1, false)
		told := make(chan struct{}, 1)
		informer, add, err := side(newCollection(pods, watcher), func() { told <- struct{}{} })
		if err != nil {
			return nil, err
		}
		sent := 0
		wait := func() time.Duration {
			pod := nextPod(pods, sent)
			sent++
			begun := time.Now()
			watcher.Modify(pod)
			<-told
			return time.Since(begun)
		}
		for range 1000 {
			wait()
		}
		var most, longest, tooks []float64
		for range additions {
			waits, took, err := duringAddition(add, wait)
			if err != nil {
				return nil, errors.Join(err, informer.stop())
			}
			slices.Sort(waits)
			most, longest = append(most, ms(waits[len(waits)*99/100])), append(longest, ms(waits[len(waits)-1]))
			tooks = append(tooks, ms(took))
		}
		return []float64{harness.Median(most), harness.Median(longest), harness.Median(tooks)}, informer.stop()
	}
}

// duringAddition adds a handler, beside which events go on until it has synced.
func duringAddition(add func() (func() bool, error), wait func() time.Duration) (waits []time.Duration, took time.Duration, err error) {
	type addition struct {
		synced func() bool
		took   time.Duration
		err    error
	}
	added := make(chan addition, 1)
	go func() {
		begun := time.Now()
		synced, err := add()
		added <- addition{synced, time.Since(begun), err}
	}()
	var there addition
	for there.synced == nil || !there.synced() {
		waits = append(waits, wait())
		select {
		case there = <-added:
			if there.err != nil {
				return nil, 0, there.err
			}
		default:
		}
	}
	return waits, there.took, nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func joinsShared(c collection, onUpdate func()) (subject, func() (func() bool, error), error) {
	shared := newShared(c, cache.InformerOptions[*corev1.Pod]{})
	handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { onUpdate() }}
	first, err := shared.AddEventHandler(handler, cache.HandlerOptions{Delivery: cache.EveryEvent})
	if err != nil {
		return subject{}, nil, err
	}
	informer, err := runShared(shared, nil, []*cache.Registration{first})
	return informer, func() (func() bool, error) {
		late, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{}, cache.HandlerOptions{})
		if err != nil {
			return nil, err
		}
		return late.HasSynced, nil
	}, err
}

func joinsClientGo(c collection, onUpdate func()) (subject, func() (func() bool, error), error) {
	shared := newClientGo(c)
	first, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { onUpdate() }})
	if err != nil {
		return subject{}, nil, err
	}
	informer, err := runClientGo(shared, nil, []clientcache.InformerSynced{first.HasSynced})
	return informer, func() (func() bool, error) {
		late, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{})
		if err != nil {
			return nil, err
		}
		return late.HasSynced, nil
	}, err
}
