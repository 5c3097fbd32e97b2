// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// The system counts CPU time in hundredths of a second, so a round has several starts. The medians
// of the rounds are printed.
const (
	startRounds    = 5
	startsPerRound = 20
	maxRoundTime   = 2 * time.Second
)

var measuredObjects = flag.Int("measure-starts", 0, "measure what the start of an informer among this many ConfigMaps costs the servers")

// TestStartCost measures what an informer of one ConfigMap among many, by its label, costs
// kube-apiserver and etcd until it has synced, beside a probe and a list of the most recent state.
// An Event is written before each start, as in a cluster in which other resources change.
func TestStartCost(t *testing.T) {
	if *measuredObjects == 0 {
		t.Skip("needs -measure-starts")
	}
	c := cluster.New(t, cluster.Options{})
	configMaps := newRareConfigMap(t, c, *measuredObjects)
	version, err := configMaps.author.clientset.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("kube-apiserver %s, %d ConfigMaps, medians of %d rounds of up to %d starts", version, *measuredObjects, startRounds, startsPerRound)
	recorded := &requests{}
	config, streaming := c.Config(), c.Config()
	inProtobuf(config)
	config.Wrap(recorded.wrap)
	streaming.Wrap(recorded.wrap)
	cache.EnableStreaming(streaming)
	client := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("")
	selector := rareLabel + "=true"
	list := func(options metav1.ListOptions) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.List(ctx, options)
			return err
		}
	}
	for _, start := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"kinformer", startKinformer(configMaps.list(t, streaming), false)},
		{"StartAny", startKinformer(configMaps.list(t, streaming), true)},
		{"client-go", startClientGo(clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.LabelSelector = selector
				return client.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.LabelSelector = selector
				return client.Watch(ctx, options)
			},
		}, client))},
		{"probe", list(metav1.ListOptions{Limit: 1})},
		{"list of the most recent state", list(metav1.ListOptions{Limit: 500, LabelSelector: selector})},
	} {
		sent := len(recorded.texts())
		measureStart(t, c, start.name, start.run)
		first := recorded.texts()[sent:]
		t.Logf("  the first requests: %q", first[:min(3, len(first))])
	}
}

// measureStart logs the medians of a start.
func measureStart(t *testing.T, c *cluster.Cluster, name string, start func(context.Context) error) {
	t.Helper()
	var elapsed, apiServer, etcd []time.Duration
	for range startRounds {
		before, beforeEtcd := cpuTime(t, c.APIServer()), cpuTime(t, c.Etcd())
		began := time.Now()
		starts := time.Duration(0)
		for ; starts < startsPerRound && time.Since(began) < maxRoundTime; starts++ {
			putEvents(t, c, metav1.NamespaceDefault, 1)
			if err := start(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		elapsed = append(elapsed, time.Since(began)/starts)
		apiServer = append(apiServer, (cpuTime(t, c.APIServer())-before)/starts)
		etcd = append(etcd, (cpuTime(t, c.Etcd())-beforeEtcd)/starts)
	}
	t.Logf("%s: %.1f ms, CPU of kube-apiserver %.1f ms, of etcd %.1f ms", name, medianOf(elapsed), medianOf(apiServer), medianOf(etcd))
}

func cpuTime(t *testing.T, s *cluster.Server) time.Duration {
	t.Helper()
	used, err := s.CPUTime()
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// medianOf returns the median in milliseconds.
func medianOf(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}

// startKinformer returns a function that runs an informer until it has synced.
func startKinformer(lw cache.ListerWatcher, startAny bool) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		informer := cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{StartAny: startAny})
		done := make(chan error, 1)
		go func() { done <- informer.Run(ctx) }()
		err := informer.WaitForSync(ctx)
		cancel()
		return errors.Join(err, <-done)
	}
}

// startClientGo returns a function that runs an informer of client-go until its handler has
// received an object.
func startClientGo(lw clientcache.ListerWatcher) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		received := make(chan struct{}, 1)
		_, informer := clientcache.NewInformerWithOptions(clientcache.InformerOptions{
			ListerWatcher: lw, ObjectType: &corev1.ConfigMap{},
			Handler: clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { received <- struct{}{} }},
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			informer.RunWithContext(ctx)
		}()
		select {
		case <-received:
		case <-time.After(waitTimeout):
			cancel()
			return errors.New("no object was received")
		}
		cancel()
		<-done
		return nil
	}
}
