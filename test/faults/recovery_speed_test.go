// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

type podLister = fake.ListerWatcher[*corev1.Pod]

// follower keeps a store equal to the objects of a server until ctx ends. It lists in pages of
// pageSize objects, or of the default size if that is zero.
type follower func(ctx context.Context, server *podLister, pageSize int64)

// kinformerFollower is an informer of this module.
func kinformerFollower(ctx context.Context, server *podLister, pageSize int64) {
	_ = cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		PageSize: pageSize, ErrorHandler: func(context.Context, error) {},
	}).Run(ctx) // nil once ctx ends
}

// clientGoFollower is a reflector of client-go, which makes the requests of its informers.
func clientGoFollower(ctx context.Context, server *podLister, pageSize int64) {
	lw := &clientcache.ListWatch{ListWithContextFunc: server.List, WatchFuncWithContext: server.Watch}
	r := clientcache.NewReflector(lw, &corev1.Pod{}, clientcache.NewStore(clientcache.MetaNamespaceKeyFunc), 0)
	r.WatchListPageSize = pageSize
	r.RunWithContext(klog.NewContext(ctx, logr.Discard()))
}

// asLists lets client-go list as this module does by default, and report errors without the sleep
// by which it limits their rate, which is until a time outside the bubble.
func asLists(t *testing.T) {
	t.Helper()
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil                            //nolint:reassign // client-go has no other way
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers }) //nolint:reassign // as above
}

// follow runs n followers of one server with five Pods in a bubble, and calls test a minute later.
func follow(t *testing.T, run follower, n int, pageSize int64, test func(server *podLister)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.Pod{})
		for i := range 5 {
			server.Create(cachetest.Pod(fmt.Sprint("pod-", i)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var followers sync.WaitGroup
		for range n {
			followers.Go(func() { run(ctx, server, pageSize) })
		}
		cachetest.Advance(time.Minute)
		test(server)
		cancel()
		followers.Wait()
	})
}

// recovery is a fault that comes several times in a row.
type recovery struct {
	name     string
	pageSize int64
	// delays injects the fault into a server that has been watched for a minute. It returns, for
	// each time, how long it took until the next watch.
	delays func(server *podLister) []time.Duration
	// limit is the longest delay in place of client-go's, if it is not zero.
	limit time.Duration
}

// recoveries are the faults of TestRecoveryIsAsFastAsClientGos: the rows of its table.
func recoveries() []recovery {
	throttled := everyWatch("429 with Retry-After: 5 for each watch", fake.Fault{Err: fake.TooManyRequests(5)})
	throttled.limit = 6 * time.Second
	return []recovery{
		{name: "a watch lives as long as it asked for", delays: livedOut},
		{name: "a watch is closed after 10 s", delays: closedEarly},
		everyWatch("each watch is closed at once", fake.Fault{CloseAfterEvents: -1}),
		everyWatch("410 for each watch", fake.Fault{Err: fake.Expired()}),
		{name: "the continue token of a relist expires; of its retry too", pageSize: 2, delays: expiredTokens},
		everyWatch("each watch's connection is refused", fake.Fault{Err: cachetest.ErrConnectionRefused}),
		{name: "two restarts in ten seconds; another server answers at once", delays: restarts(0)},
		{name: "two restarts in ten seconds, each for half a second", delays: restarts(500 * time.Millisecond)},
		throttled,
	}
}

// watchesSince returns the watches among the requests from the nth on.
func watchesSince(server *podLister, n int) []fake.Request {
	return slices.DeleteFunc(server.Requests()[n:], func(r fake.Request) bool { return r.Verb != "watch" })
}

// everyWatch returns a recovery from a fault that ends every watch at once.
func everyWatch(name string, fault fake.Fault) recovery {
	return recovery{name: name, delays: func(server *podLister) (delays []time.Duration) {
		n := len(server.Requests())
		server.InjectWatchFault(-1, fault)
		server.CloseWatches()
		cachetest.Advance(time.Minute)
		watches := watchesSince(server, n)
		for i := range 3 {
			delays = append(delays, watches[i+1].Time.Sub(watches[i].Time))
		}
		return delays
	}}
}

func livedOut(server *podLister) (delays []time.Duration) {
	cachetest.Advance(time.Hour)
	watches := watchesSince(server, 0)
	for i := range 3 {
		timeout := time.Duration(*watches[i].Options.TimeoutSeconds) * time.Second
		delays = append(delays, watches[i+1].Time.Sub(watches[i].Time)-timeout)
	}
	return delays
}

func closedEarly(server *podLister) (delays []time.Duration) {
	for range 3 {
		cachetest.Advance(10 * time.Second)
		server.CloseWatches()
		delays = append(delays, untilWatched(server))
	}
	return delays
}

// expiredTokens returns how long relists take whose continue token expires, once and twice.
func expiredTokens(server *podLister) (delays []time.Duration) {
	for times := 1; times <= 2; times++ {
		for range times {
			server.InjectListFault(1, fake.Fault{}) // the first page
			server.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		}
		n := len(server.Requests())
		server.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		server.CloseWatches()
		cachetest.Advance(3 * time.Minute)
		server.ClearFaults()
		requests := server.Requests()[n:]
		list := slices.IndexFunc(requests, func(r fake.Request) bool { return r.Verb == "list" })
		watch := list + slices.IndexFunc(requests[list:], func(r fake.Request) bool { return r.Verb == "watch" })
		delays = append(delays, requests[watch].Time.Sub(requests[list].Time))
	}
	return delays
}

// restarts returns a function that closes all watches twice, refuses connections for a time, and
// returns how long it takes until a watch is open after that.
func restarts(lasting time.Duration) func(*podLister) []time.Duration {
	return func(server *podLister) (delays []time.Duration) {
		for range 2 {
			began := time.Now()
			if lasting > 0 {
				server.InjectWatchFault(-1, fake.Fault{Err: cachetest.ErrConnectionRefused})
				server.InjectListFault(-1, fake.Fault{Err: cachetest.ErrConnectionRefused})
			}
			server.CloseWatches()
			cachetest.Advance(lasting)
			server.ClearFaults()
			delays = append(delays, untilWatched(server))
			cachetest.Advance(10*time.Second - time.Since(began))
		}
		return delays
	}
}

// untilWatched returns how long it takes until a watch is open.
func untilWatched(server *podLister) time.Duration {
	began := time.Now()
	for synctest.Wait(); server.OpenWatches() == 0; {
		cachetest.Advance(time.Millisecond)
	}
	return time.Since(began)
}

// TestRecoveryIsAsFastAsClientGos runs an informer and a reflector of client-go through the same
// faults, 100 times. The informer's median delay before the next watch is at most 0.2 s longer,
// after the first fault and after each that follows. With -v, the test prints a table.
func TestRecoveryIsAsFastAsClientGos(t *testing.T) {
	const runs = 100 // medians of twenty differ by half a second between runs of the test
	asLists(t)
	var table strings.Builder
	for _, c := range recoveries() {
		t.Run(c.name, func(t *testing.T) {
			measure := func(run follower) (delays [][]time.Duration) {
				for range runs {
					follow(t, run, 1, c.pageSize, func(server *podLister) {
						for i, delay := range c.delays(server) {
							if i == len(delays) {
								delays = append(delays, nil)
							}
							delays[i] = append(delays[i], delay)
						}
					})
				}
				return delays
			}
			ours, theirs := measure(kinformerFollower), measure(clientGoFollower)
			for i := range ours {
				slices.Sort(ours[i])
				if limit := c.limit; limit > 0 {
					if longest := ours[i][runs-1]; longest > limit {
						t.Errorf("time %d: the next watch follows after up to %v, want at most %v", i+1, longest, limit)
					}
				} else if got, want := median(ours[i]), median(theirs[i])+200*time.Millisecond; got > want {
					t.Errorf("time %d: the next watch follows after %v, want at most %v", i+1, got, want)
				}
			}
			fmt.Fprintf(&table, "| %s | %s | %s |\n", c.name, medians(ours), medians(theirs))
		})
	}
	t.Logf("medians of %d runs, in seconds\n%s", runs, &table)
}

func median(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// medians describes the medians, in seconds.
func medians(all [][]time.Duration) string {
	words := make([]string, 0, len(all))
	for _, values := range all {
		words = append(words, fmt.Sprintf("%.2f", median(values).Seconds()))
	}
	return strings.Join(words, ", ")
}

// TestManyInformersLoadAFailingServerNoMoreThanClientGos lets fifty informers and fifty reflectors
// of client-go meet a server that fails for ten minutes, and counts the requests.
func TestManyInformersLoadAFailingServerNoMoreThanClientGos(t *testing.T) {
	const informers, lasting = 50, 10 * time.Minute
	asLists(t)
	var table strings.Builder
	for _, c := range []struct {
		name  string
		fault fake.Fault
	}{
		{"410 for each watch", fake.Fault{Err: fake.Expired()}},
		{"each watch's connection is refused", fake.Fault{Err: cachetest.ErrConnectionRefused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			load := func(run follower) (perSecond float64, busiest int) {
				follow(t, run, informers, 0, func(server *podLister) {
					n := len(server.Requests())
					server.InjectWatchFault(-1, c.fault)
					server.CloseWatches()
					cachetest.Advance(lasting)
					requests := server.Requests()[n:]
					perSecond = float64(len(requests)) / lasting.Seconds()
					busiest = busiestSecond(requests)
				})
				return perSecond, busiest
			}
			ours, ourBusiest := load(kinformerFollower)
			theirs, theirBusiest := load(clientGoFollower)
			if ours > theirs {
				t.Errorf("%.2f requests per second, client-go %.2f", ours, theirs)
			}
			fmt.Fprintf(&table, "| %s | %.2f, %d | %.2f, %d |\n", c.name, ours, ourBusiest, theirs, theirBusiest)
		})
	}
	t.Logf("requests per second in %v, and in the busiest second\n%s", lasting, &table)
}

// busiestSecond returns the greatest number of requests within a second.
func busiestSecond(requests []fake.Request) (most int) {
	first := 0
	for i, request := range requests {
		for request.Time.Sub(requests[first].Time) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
