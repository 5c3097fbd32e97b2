// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// BenchmarkEventToHandlers measures one watch event, an update of one of 10,000 Pods, from the
// sink through the store and the log until the last handler has returned. The goal for one
// handler is 0.4 µs.
func BenchmarkEventToHandlers(b *testing.B) {
	for _, handlers := range []int{1, 4, 16} {
		b.Run(strconv.Itoa(handlers), func(b *testing.B) { benchmarkEvents(b, handlers) })
	}
}

func benchmarkEvents(b *testing.B, handlers int) {
	b.Helper()
	const pods, round = 10_000, 1_000
	i := newPodInformer()
	delivered := make(chan struct{}, handlers) // receives a value from each handler after each round
	for h := range handlers {
		calls := 0
		i.AddHandler("handler"+strconv.Itoa(h), func(Event) {
			if calls++; calls >= pods && calls%round == 0 {
				delivered <- struct{}{}
			}
		}, 0)
	}
	stop := start(i)
	list(i, pods)

	var items []feed.Item
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%round == 0 {
			for range handlers {
				<-delivered
			}
			b.StopTimer() // the source makes the objects
			items = podItems(round, pods, pods+n+1)
			b.StartTimer()
		}
		i.feed.Apply(watch.Modified, items[n%round])
	}
	if err := stop(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkEventWithLateHandlers measures one event to a handler of an informer of 200,000 Pods
// while other handlers are added, receive all Pods, and are canceled.
func BenchmarkEventWithLateHandlers(b *testing.B) {
	for _, late := range []bool{false, true} {
		b.Run(fmt.Sprint("late=", late), func(b *testing.B) { benchmarkLateHandlers(b, late) })
	}
}

func benchmarkLateHandlers(b *testing.B, late bool) {
	b.Helper()
	i := startPodInformer(b, 200_000)
	delivered := make(chan struct{}, 1)
	steady := add(b, i, HandlerConfig{Name: "steady", OnEvent: func(e Event) {
		if e.Type == Update {
			delivered <- struct{}{}
		}
	}})
	<-steady.Synced()
	done := make(chan struct{})
	var wg sync.WaitGroup
	if late {
		wg.Go(func() { addAndCancelHandlers(b, i, done) })
	}
	items := podItems(1000, 1000, 1_000_000)
	var latencies []time.Duration
	n := 0
	for b.Loop() {
		item := items[n%len(items)]
		item.ResourceVersion = strconv.Itoa(1_000_000 + n)
		began := time.Now()
		i.feed.Apply(watch.Modified, item)
		<-delivered
		latencies = append(latencies, time.Since(began))
		n++
	}
	close(done)
	wg.Wait()
	slices.Sort(latencies) // the longest are due to threads that wait for a processor
	b.ReportMetric(float64(latencies[len(latencies)/2].Nanoseconds()), "ns-median")
	b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(float64(latencies[len(latencies)*999/1000].Microseconds()), "µs-p99.9")
}

// addAndCancelHandlers adds one handler after the other until done is closed, and cancels each
// once it has received all Pods.
func addAndCancelHandlers(b *testing.B, i *Informer, done <-chan struct{}) {
	b.Helper()
	for {
		h, err := i.Add(HandlerConfig{Name: "late", OnEvent: func(Event) {}})
		if err != nil {
			b.Error(err)
			return
		}
		select {
		case <-h.Synced():
		case <-done:
		}
		h.Cancel()
		<-h.Done()
		select {
		case <-done:
			return
		default:
		}
	}
}
