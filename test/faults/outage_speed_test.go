// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// site is a server, and many stores that are kept equal to it by typed clients, each with its own
// connections. It is stopped and started in a synctest bubble.
type site struct {
	*network
	versions []func() string // of Pod a in each store
}

// storeOf makes a store that an informer, or a reflector of client-go, fills by a typed client. run
// returns once ctx has ended. version returns the version of Pod a in the store.
type storeOf func(ctx context.Context, config *rest.Config) (version func() string, run func())

// kinformerStore is the store of an informer of this module, which streams.
func kinformerStore(ctx context.Context, config *rest.Config) (version func() string, run func()) {
	cache.EnableStreaming(config)
	pods := cache.NewSharedInformer(cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Pods("")), &corev1.Pod{},
		cache.InformerOptions[*corev1.Pod]{ErrorHandler: func(context.Context, error) {}})
	return func() string {
		pod, _ := pods.Store().GetByKey("ns/a")
		return versionOf(pod)
	}, func() { _ = pods.Run(ctx) } // nil once ctx ends
}

// clientGoStore is the store of a reflector of client-go, which makes the requests of its
// informers.
func clientGoStore(ctx context.Context, config *rest.Config) (version func() string, run func()) {
	pods := corev1client.NewForConfigOrDie(config).Pods("")
	lw := &clientcache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
	}
	store := clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)
	r := clientcache.NewReflector(lw, &corev1.Pod{}, store, 0)
	return func() string {
		pod, _, _ := store.GetByKey("ns/a")
		typed, _ := pod.(*corev1.Pod)
		return versionOf(typed)
	}, func() { r.RunWithContext(klog.NewContext(ctx, logr.Discard())) }
}

func versionOf(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.ResourceVersion
}

// atSite runs n stores of one server in a bubble, and calls test a minute later.
func atSite(t *testing.T, n int, open storeOf, test func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{network: connectOver(cachetest.New(t), http1, streamingClient)}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range n {
			transport := &http.Transport{DialContext: s.dial}
			version, run := open(ctx, &rest.Config{Host: "http://server", QPS: -1, Transport: transport})
			s.versions = append(s.versions, version)
			running.Go(run)
			defer transport.CloseIdleConnections()
		}
		cachetest.Advance(time.Minute)
		test(s)
		cancel()
		running.Wait()
	})
}

// outage stops the server for a time, in which an object changes. With balanced, connections are
// accepted and closed meanwhile, and refused otherwise. Without keepsHistory, the server has no
// earlier changes when it is back. outage returns when each store is equal again, after that.
func (s *site) outage(lasting time.Duration, balanced, keepsHistory bool) []time.Duration {
	s.mu.Lock()
	s.balanced = balanced
	s.mu.Unlock()
	s.stop()
	cachetest.Advance(lasting / 2)
	changed := s.Update(cachetest.Pod("a"))
	if !keepsHistory {
		s.TruncateWatchCache()
	}
	cachetest.Advance(lasting / 2)
	s.start()
	return s.untilEqual(changed.ResourceVersion)
}

// throttled ends all watches, answers the next ones with a 429 for half a second, and with a 410
// after that. It returns when each store is equal again, from the end of the 429s on.
func (s *site) throttled() []time.Duration {
	s.throttle(true)
	s.CloseWatches()
	changed := s.Update(cachetest.Pod("a"))
	s.TruncateWatchCache()
	cachetest.Advance(500 * time.Millisecond)
	s.throttle(false)
	return s.untilEqual(changed.ResourceVersion)
}

// throttle makes the server answer each watch with a 429, or as it is.
func (s *site) throttle(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.intercept = nil; !on {
		return
	}
	s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("watch") {
			return false
		}
		cachetest.ServeError(w, fake.TooManyRequests(1))
		return true
	}
}

// startup is an outage of 4 s, after which the server answers with a 429 for a second, as
// kube-apiserver does until it has read its state.
func (s *site) startup() []time.Duration {
	s.throttle(true)
	go func() {
		<-time.After(5 * time.Second)
		s.throttle(false)
	}()
	return s.outage(4*time.Second, false, false)
}

// untilEqual returns how long it takes until each store has Pod a at a version.
func (s *site) untilEqual(version string) []time.Duration {
	began, missing := time.Now(), len(s.versions)
	delays := make([]time.Duration, len(s.versions))
	for i := range delays {
		delays[i] = -1
	}
	for synctest.Wait(); missing > 0; cachetest.Advance(10 * time.Millisecond) {
		for i, stored := range s.versions {
			if delays[i] < 0 && stored() == version {
				delays[i] = time.Since(began)
				missing--
			}
		}
	}
	return delays
}

// outagePair is a pair of faults that come one after the other, perhaps several times.
type outagePair struct {
	name   string
	delays func(s *site) [][]time.Duration // of each store, for each time
	stores int                             // if not zero, where the medians are near the limit
}

// outagePairs are the rows of the table of TestStoresRecoverFromOutagesAsFastAsClientGos.
func outagePairs() []outagePair {
	once := func(name string, fault func(s *site) []time.Duration) outagePair {
		return outagePair{name: name, delays: func(s *site) [][]time.Duration { return [][]time.Duration{fault(s)} }}
	}
	outage := func(lasting time.Duration, balanced, keepsHistory bool) func(s *site) []time.Duration {
		return func(s *site) []time.Duration { return s.outage(lasting, balanced, keepsHistory) }
	}
	restarts := func(name string, fault func(s *site) []time.Duration) outagePair {
		return outagePair{name: name, delays: func(s *site) (delays [][]time.Duration) {
			for range 3 {
				began := time.Now()
				delays = append(delays, fault(s))
				cachetest.Advance(time.Minute - time.Since(began))
			}
			return delays
		}}
	}
	minute := once("a balancer closes connections for a minute, then 410", outage(time.Minute, true, false))
	minute.stores = 300
	return []outagePair{
		once("a balancer closes connections for 3 s, then 410", outage(3*time.Second, true, false)),
		minute,
		once("connections are refused for 3 s, then 410", outage(3*time.Second, false, false)),
		once("connections are refused for a minute, then 410", outage(time.Minute, false, false)),
		once("a closed watch, then connections are refused for 5 s", func(s *site) []time.Duration {
			s.CloseWatches()
			return s.outage(5*time.Second, false, true)
		}),
		once("429, then 410", (*site).throttled),
		restarts("three restarts in two minutes, each 4 s behind a balancer, then 410", outage(4*time.Second, true, false)),
		restarts("three restarts in two minutes, each 4 s, then 410", outage(4*time.Second, false, false)),
		restarts("three restarts in two minutes, each 4 s, then 429 for 1 s, then 410", (*site).startup),
	}
}

// TestStoresRecoverFromOutagesAsFastAsClientGos runs informers and reflectors of client-go, with
// typed clients over HTTP, through the same pairs of faults. The informers' median delay until the
// store is equal to the server is at most 0.3 s longer, each time. With -v, the test prints a
// table.
func TestStoresRecoverFromOutagesAsFastAsClientGos(t *testing.T) {
	const stores = 50
	asLists(t)
	var table strings.Builder
	for _, pair := range outagePairs() {
		t.Run(pair.name, func(t *testing.T) {
			measure := func(open storeOf) (delays [][]time.Duration) {
				atSite(t, cmp.Or(pair.stores, stores), open, func(s *site) { delays = pair.delays(s) })
				return delays
			}
			ours, theirs := measure(kinformerStore), measure(clientGoStore)
			for i := range ours {
				if got, want := median(ours[i]), median(theirs[i])+300*time.Millisecond; got > want {
					t.Errorf("time %d: the store is equal after %v, want at most %v", i+1, got, want)
				}
			}
			fmt.Fprintf(&table, "| %s | %s | %s |\n", pair.name, medians(ours), medians(theirs))
		})
	}
	t.Logf("medians of %d stores, in seconds\n%s", stores, &table)
}

// TestManyInformersLoadABalancerNoMoreThanClientGos lets a balancer close the connections of many
// stores for ten minutes, and counts the requests. No tenth of a second after the first one has
// more than a third of the informers' watches, and none of their lists that follow the 410.
func TestManyInformersLoadABalancerNoMoreThanClientGos(t *testing.T) {
	const stores, lasting = 50, 10 * time.Minute
	asLists(t)
	load := func(open storeOf) (closed, lists []time.Time) {
		atSite(t, stores, open, func(s *site) {
			began := time.Now()
			s.outage(lasting, true, false)
			closed = s.closed
			for _, r := range s.allReceived() {
				if r.at.After(began) && !r.URL.Query().Has("watch") {
					lists = append(lists, r.at)
				}
			}
		})
		return closed, lists
	}
	ours, lists := load(kinformerStore)
	theirs, _ := load(clientGoStore)
	t.Logf("requests per second in %v: %.2f, client-go %.2f", lasting, float64(len(ours))/lasting.Seconds(), float64(len(theirs))/lasting.Seconds())
	if len(ours) > len(theirs) {
		t.Errorf("%d requests, client-go %d", len(ours), len(theirs))
	}
	ours = slices.DeleteFunc(ours, func(at time.Time) bool { return at.Sub(ours[0]) < time.Second })
	for what, times := range map[string][]time.Time{"watches": ours, "lists": lists} {
		if most := mostWithin(100*time.Millisecond, times); most > stores/3 {
			t.Errorf("%d %s in a tenth of a second, want at most %d", most, what, stores/3)
		}
	}
}

// mostWithin returns the greatest number of times, which are in order, within d.
func mostWithin(d time.Duration, times []time.Time) (most int) {
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= d {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
