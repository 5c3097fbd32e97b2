// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// withoutOverlap is an informer of package clientgo on functions that do not stream. It makes
// client-go's requests, and resumes watches from the version reached.
func withoutOverlap(ctx context.Context, server *podLister, _ int64) {
	lw := &clientcache.ListWatch{ListWithContextFunc: server.List, WatchFuncWithContext: server.Watch}
	clientgo.Options{}.NewInformer(lw, &corev1.Pod{}, 0, clientcache.Indexers{}).RunWithContext(ctx)
}

// overlapPods is the number of Pods in the table of what the overlap costs.
const overlapPods = 100

// serverRestarts are the restarts of API servers in the table. Each takes less than an hour.
var serverRestarts = []struct {
	name    string
	count   int // of restarts per hour
	restart func(server *podLister)
}{
	{"none", 0, func(*podLister) {}},
	{"one server", 1, restartServer},
	{"each of three, a minute apart", 3, func(server *podLister) {
		for range 3 {
			restartServer(server)
			cachetest.Advance(time.Minute)
		}
	}},
	{"one server without a watch cache", 1, func(server *podLister) { server.CloseWatches() }},
}

// restartServer ends all watches, and empties the watch cache.
func restartServer(server *podLister) {
	server.TruncateWatchCache()
	server.CloseWatches()
}

// changeRate is how often an object changes, and for how many hours.
type changeRate struct {
	every time.Duration
	hours int
}

// transfer is what a server has sent.
type transfer struct{ lists, objects atomic.Int64 }

// count counts the lists of a server, and the objects of its lists and watches.
func (s *transfer) count(server *podLister) {
	server.InjectListFault(-1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
		if n := apimeta.LenList(list); n > 1 { // no probe, which has limit=1
			s.lists.Add(1)
			s.objects.Add(int64(n))
		}
		return list
	}})
	server.InjectWatchFault(-1, fake.Fault{EditEvent: func(event watch.Event) []watch.Event {
		s.objects.Add(1)
		return []watch.Event{event}
	}})
}

// TestOverlapCostsAtMostOneListPerRestart counts the lists of informers whose API servers restart
// every hour, and which resume their watches before the last changes. There is at most one list
// more for each informer and restart than without that. With -v, the test prints a table.
func TestOverlapCostsAtMostOneListPerRestart(t *testing.T) {
	asLists(t)
	var table strings.Builder
	for _, rate := range changeRates {
		for _, r := range serverRestarts {
			t.Run(fmt.Sprint(rate.every, ", ", r.name), func(t *testing.T) {
				var cells []string
				var lists []int64
				for _, run := range []follower{kinformerFollower, withoutOverlap, clientGoFollower} {
					n, bytes := transferred(t, run, rate.every, rate.hours, r.restart)
					lists = append(lists, n)
					cells = append(cells, fmt.Sprintf("%.1f, %.2f", float64(n)/float64(rate.hours), bytes/float64(rate.hours)/1e6))
				}
				if more, limit := lists[0]-lists[1], int64(r.count*rate.hours); more > limit {
					t.Errorf("%d lists more than without the overlap in %d h, want at most %d", more, rate.hours, limit)
				}
				fmt.Fprintf(&table, "| %v | %s | %s |\n", rate.every, r.name, strings.Join(cells, " | "))
			})
		}
	}
	t.Logf("lists, and MB without the changes, per hour\n%s", &table)
}

// transferred returns the number of lists, and the bytes of JSON that are not of new changes, which
// a server sends to a follower in some hours.
func transferred(t *testing.T, run follower, every time.Duration, hours int, restart func(*podLister)) (lists int64, bytes float64) {
	t.Helper()
	var sent transfer
	follow(t, run, 1, 0, func(server *podLister) {
		for i := range overlapPods {
			server.Create(largePod(i))
		}
		cachetest.Advance(time.Second)
		sent.count(server)
		server.CloseWatches() // the next one is counted
		cachetest.Advance(time.Second)
		sent.objects.Store(0) // those of the overlap
		changes, stop := 0, make(chan struct{})
		defer close(stop)
		go func() {
			for ticker := time.NewTicker(every); ; {
				select {
				case <-ticker.C:
					server.Update(largePod(changes % overlapPods))
					changes++
				case <-stop:
					return
				}
			}
		}()
		for range hours {
			next := time.Now().Add(time.Hour)
			cachetest.Advance(30 * time.Minute)
			restart(server)
			cachetest.Advance(time.Until(next))
		}
		raw, err := json.Marshal(largePod(0))
		if err != nil {
			t.Error(err)
		}
		lists, bytes = sent.lists.Load(), float64(sent.objects.Load()-int64(changes))*float64(len(raw))
	})
	return lists, bytes
}

// largePod returns a Pod of 6 kB.
func largePod(n int) *corev1.Pod {
	return cachetest.Pod(fmt.Sprint("large-", n), cachetest.WithLabel("x", "1"), func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"a": strings.Repeat("a", 5800)}
	})
}
