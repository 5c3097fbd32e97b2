// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// slots is how many ranges of hashes an informer holds, of which it gives up half.
const slots = 4096

const (
	whileAdded   = "while a scope is added"
	whileRemoved = "while a scope is removed"
)

// scopeCommit is row scope-commit: what an event of one scope waits for while another scope, of as
// many objects as an informer has in other rows, is added and removed, and what it costs to give up
// slots without objects. There is no counterpart in client-go.
func scopeCommit(scale Scale) []harness.Experiment {
	sides := []string{whileAdded, whileRemoved, "alone"}
	return []harness.Experiment{
		{
			Row: "scope-commit", Setup: fmt.Sprintf("events of one scope, beside one of %d Pods", scale.Pods), Sides: sides,
			Metrics: []harness.Metric{{Name: "longest event of ten times", Unit: "ms", Goal: harness.Within(5, "ms").MissedBecause(
				"A commit holds the writer's lock for 512 keys at a time, which takes it 0.5 to 2 ms of CPU. The rest is waiting for a core, as on side alone, which has no commit.")}},
			Prepare: func() ([]harness.Measure, error) {
				var measures []harness.Measure
				for _, side := range sides {
					measures = append(measures, func() ([]float64, error) {
						longest := time.Duration(0)
						for range 10 {
							longest = max(longest, longestEvent(scale.Pods, side))
						}
						return []float64{longest.Seconds() * 1e3}, nil
					})
				}
				return measures, nil
			},
		},
		{
			Row: "scope-commit", Setup: fmt.Sprintf("%d of %d slots without objects are given up", slots/2, slots), Sides: []string{"kinformer"},
			Metrics: []harness.Metric{
				{Name: "CPU", Unit: "ms", Goal: harness.Within(50, "ms")},
				{Name: "heap of a slot that is held", Unit: "kB"},
			},
			Prepare: func() ([]harness.Measure, error) { return []harness.Measure{releaseSlots}, nil },
		},
	}
}

// scopedStore is a store of two scopes, each of a namespace.
type scopedStore struct {
	*store.Store
	busy, other *store.Scope
	events      *store.Feed
	version     int
}

func newScopedStore() *scopedStore {
	s := &scopedStore{version: 10}
	byNamespace := func(pod any) ([]string, error) { return []string{pod.(*corev1.Pod).Namespace}, nil }
	byNode := func(pod any) ([]string, error) { return []string{pod.(*corev1.Pod).Spec.NodeName}, nil }
	s.Store = store.New(store.Config{
		Key: func(value any) (string, error) {
			pod := value.(*corev1.Pod)
			return pod.Namespace + "/" + pod.Name, nil
		},
		ItemKeys: true,
		ScopeOf:  func(namespace, _, _ string) (scope.Scope, error) { return scope.Scope{Namespace: namespace}, nil },
		Identity: func(value any) (string, string) {
			pod := value.(*corev1.Pod)
			return string(pod.UID), pod.ResourceVersion
		},
		Decode:      func(item feed.Item) (any, error) { return item.Object.(*corev1.Pod), nil },
		PointerType: reflect.TypeFor[*corev1.Pod](),
		Indexers:    map[string]store.IndexFunc{"namespace": byNamespace, "node": byNode},
		Report:      func(string, error) {},
		Log:         eventlog.New[store.Change](),
	})
	s.busy, s.other = s.AddScope(scope.Scope{Namespace: "busy"}), s.AddScope(scope.Scope{Namespace: "other"})
	s.events = s.NewFeed(store.FeedConfig{Scopes: []*store.Scope{s.busy}})
	_ = s.events.Begin().Commit("10")
	s.MarkSynced()
	return s
}

func podItem(namespace string, n int, version string) feed.Item {
	name := "pod-" + strconv.Itoa(n)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), ResourceVersion: version},
		Spec:       corev1.PodSpec{NodeName: "node-" + strconv.Itoa(n%100)},
	}
	return feed.Item{Key: namespace + "/" + name, UID: string(pod.UID), ResourceVersion: version, Object: pod}
}

// addPods lists the other scope.
func (s *scopedStore) addPods(items []feed.Item) {
	list := s.NewFeed(store.FeedConfig{Scopes: []*store.Scope{s.other}}).Begin()
	for _, item := range items {
		list.Add(item)
	}
	_ = list.Commit("10")
}

// longestEvent returns how long the longest event takes while the other scope is added or removed,
// or for 20 ms.
func longestEvent(pods int, side string) time.Duration {
	s := newScopedStore()
	var items []feed.Item
	for n := range pods {
		items = append(items, podItem("other", n, "10"))
	}
	if side == whileRemoved {
		s.addPods(items)
	}
	runtime.GC()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		switch side {
		case whileAdded:
			s.addPods(items)
		case whileRemoved:
			s.RemoveScopes([]*store.Scope{s.other}, true)
		default:
			<-time.After(20 * time.Millisecond)
		}
	}()
	longest := time.Duration(0)
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		s.version++
		item := podItem("busy", s.version%100, strconv.Itoa(s.version))
		start := time.Now()
		s.events.Apply(watch.Modified, item)
		longest = max(longest, time.Since(start))
		runtime.Gosched()
	}
	return longest
}

// releaseSlots returns the CPU time in milliseconds that giving up half of the slots takes, and the
// heap of a slot in kilobytes.
func releaseSlots() ([]float64, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const width = math.MaxUint64/slots + 1
	var all []cache.Scope
	for n := range uint64(slots) {
		first := n * width
		all = append(all, cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: first, Last: first + width - 1}})
	}
	set := cache.NewScopes(all...)
	before := process.LiveHeap()
	pods := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: set})
	ended := make(chan error, 1)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		return nil, err
	}
	heap := float64(process.LiveHeap()-before) / slots / 1e3
	start := process.CPU()
	if err := set.Remove(all[slots/2:]...); err != nil {
		return nil, err
	}
	for len(pods.ScopeStatus()) > slots/2 {
		<-time.After(time.Millisecond)
	}
	taken := process.CPU() - start
	cancel()
	return []float64{taken.Seconds() * 1e3, heap}, <-ended
}
