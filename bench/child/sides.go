package child

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// The sides. Each is what a program's author would write: an informer on all
// Pods, with a handler, from a clientset that speaks protobuf.
const (
	Kinformer         = "kinformer"
	Classic           = "kinformer without EnableStreaming" // and nothing else changed
	ClientGo          = "client-go"                         // with the feature gate WatchListClient off
	ClientGoWatchList = "client-go, WatchList"              // with it on, as is its default

	// Ours by one way and by the other.
	List      = "List"
	WatchList = "WatchList"
)

// informer is one side's.
type informer struct {
	run     func(context.Context) (stopped <-chan struct{})
	stop    func()
	synced  func() bool
	version func() string
}

// side makes an informer that is not running yet.
type side func(config *rest.Config, told *tally) (informer, error)

func sides() map[string]side {
	return map[string]side{
		Kinformer:         streaming(shared(options{})),
		Classic:           shared(options{}),
		ClientGo:          clientGo,
		ClientGoWatchList: clientGo, // the feature gate is set by the environment
		List:              streaming(shared(options{InitialSync: cache.InitialSyncList})),
		WatchList:         streaming(shared(options{InitialSync: cache.InitialSyncWatchList})),
	}
}

// tally counts what a handler is told.
type tally struct{ adds, updates atomic.Int64 }

func (t *tally) added() int   { return int(t.adds.Load()) }
func (t *tally) updated() int { return int(t.updates.Load()) }

func (s Server) config() *rest.Config {
	return &rest.Config{
		Host: s.URL, BearerToken: s.Token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.CAFile}, QPS: -1, Timeout: time.Hour,
		ContentConfig: rest.ContentConfig{
			ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

type options = cache.InformerOptions[*corev1.Pod]

// streaming is the one line.
func streaming(s side) side {
	return func(config *rest.Config, told *tally) (informer, error) {
		cache.EnableStreaming(config)
		return s(config, told)
	}
}

// shared is a shared informer of ours with a handler.
func shared(options options) side {
	return func(config *rest.Config, told *tally) (informer, error) {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return informer{}, err
		}
		pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{}, options)
		_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{
			AddFunc:    func(*corev1.Pod) { told.adds.Add(1) },
			UpdateFunc: func(_, _ *corev1.Pod) { told.updates.Add(1) },
		}, cache.HandlerOptions{})
		version := func() string { return pods.Status().ResourceVersion }
		return started(func(ctx context.Context) { _ = pods.Run(ctx) }, pods.HasSynced, version), err
	}
}

func clientGo(config *rest.Config, told *tally) (informer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return informer{}, err
	}
	pods := informers.NewSharedInformerFactory(clientset, 0).Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { told.adds.Add(1) },
		UpdateFunc: func(_, _ any) { told.updates.Add(1) },
	})
	return started(pods.RunWithContext, pods.HasSynced, pods.LastSyncResourceVersion), err
}

// started makes an informer of a function that runs until its context ends.
func started(run func(context.Context), synced func() bool, version func() string) informer {
	stop := make(chan struct{})
	return informer{
		run: func(ctx context.Context) <-chan struct{} {
			ctx, cancel := context.WithCancel(ctx)
			stopped := make(chan struct{})
			go func() {
				<-stop
				cancel()
			}()
			go func() {
				defer close(stopped)
				run(ctx)
			}()
			return stopped
		},
		stop:    func() { close(stop) },
		synced:  synced,
		version: version,
	}
}
