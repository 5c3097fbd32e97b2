package child

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// The sides. Each is what a program's author would write: an informer on all
// Pods, with a handler, from a clientset that speaks protobuf.
const (
	Kinformer         = "kinformer"
	Classic           = "kinformer without EnableStreaming" // and nothing else changed
	ClientGo          = "client-go"                         // with the feature gate WatchListClient off
	ClientGoWatchList = "client-go, WatchList"              // with it on, as is its default

	ShareEqual = "kinformer, ShareEqual"
	Packed     = "kinformer, packed, keys" // with handlers of keys

	// client-go's interfaces with our informers behind them: the program of ClientGo with
	// another factory.
	Adapter       = "clientgo"
	AdapterPacked = "clientgo, packed"

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

// side makes an informer that is not running yet, with a handler for each of the
// tallies.
type side func(config *rest.Config, told told) (informer, error)

func sides() map[string]side {
	return map[string]side{
		Kinformer:         streaming(shared(options{})),
		Classic:           shared(options{}),
		ShareEqual:        streaming(shared(options{ShareEqual: true})),
		Packed:            streaming(keyed(options{Packed: true})),
		ClientGo:          sharedIndex(newFactory),
		ClientGoWatchList: sharedIndex(newFactory), // the feature gate is set by the environment
		Adapter:           streaming(sharedIndex(newAdapted(clientgo.Options{Streaming: true}))),
		AdapterPacked:     streaming(sharedIndex(newAdapted(clientgo.Options{Streaming: true, Packed: true}))),
		List:              streaming(shared(options{ListMode: cache.ListModeList})),
		WatchList:         streaming(shared(options{ListMode: cache.ListModeWatchList})),
	}
}

// tally counts what a handler is told.
type tally struct{ adds, updates atomic.Int64 }

// add and update are a handler's functions.
func (t *tally) add()    { t.adds.Add(1) }
func (t *tally) update() { t.updates.Add(1) }

// told is what all handlers are told.
type told struct {
	pods    int // that there are: so many keys are told first
	tallies []*tally
}

func newTold(pods, handlers int) told {
	t := told{pods: pods}
	for range handlers {
		t.tallies = append(t.tallies, &tally{})
	}
	return t
}

// added and updated return what every handler has been told.
func (t told) added() int   { return t.least(func(t *tally) int64 { return t.adds.Load() }) }
func (t told) updated() int { return t.least(func(t *tally) int64 { return t.updates.Load() }) }

func (t told) least(of func(*tally) int64) int {
	least := of(t.tallies[0])
	for _, one := range t.tallies[1:] {
		least = min(least, of(one))
	}
	return int(least)
}

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
	return func(config *rest.Config, told told) (informer, error) {
		cache.EnableStreaming(config)
		return s(config, told)
	}
}

// shared is a shared informer of ours with handlers of events.
func shared(options options) side {
	return func(config *rest.Config, told told) (informer, error) {
		return ours(config, options, told, func(pods *cache.SharedInformer[*corev1.Pod], t *tally) error {
			_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{
				AddFunc:    func(*corev1.Pod) { t.add() },
				UpdateFunc: func(_, _ *corev1.Pod) { t.update() },
			}, cache.HandlerOptions{})
			return err
		})
	}
}

// keyed is one with handlers of keys. The first key of each Pod is its addition.
func keyed(options options) side {
	return func(config *rest.Config, told told) (informer, error) {
		return ours(config, options, told, func(pods *cache.SharedInformer[*corev1.Pod], t *tally) error {
			_, err := pods.AddKeyHandler(func(string) {
				if int(t.adds.Load()) < told.pods {
					t.add()
				} else {
					t.update()
				}
			}, cache.HandlerOptions{})
			return err
		})
	}
}

func ours(config *rest.Config, options options, told told, handle func(*cache.SharedInformer[*corev1.Pod], *tally) error) (informer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return informer{}, err
	}
	pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{}, options)
	for _, t := range told.tallies {
		err = errors.Join(err, handle(pods, t))
	}
	version := func() string { return pods.Status().ResourceVersion }
	return started(func(ctx context.Context) { _ = pods.Run(ctx) }, pods.HasSynced, version), err
}

// factory makes client-go's informers, or what stands for them.
type factory func(kubernetes.Interface) informers.SharedInformerFactory

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(client, 0)
}

func newAdapted(options clientgo.Options) factory {
	return func(client kubernetes.Interface) informers.SharedInformerFactory {
		return clientgo.NewSharedInformerFactory(client, clientgo.FactoryOptions{Options: options})
	}
}

// sharedIndex is a SharedIndexInformer with handlers of events.
func sharedIndex(factory factory) side {
	return func(config *rest.Config, told told) (informer, error) {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return informer{}, err
		}
		pods := factory(clientset).Core().V1().Pods().Informer()
		for _, t := range told.tallies {
			_, failed := pods.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { t.add() },
				UpdateFunc: func(_, _ any) { t.update() },
			})
			err = errors.Join(err, failed)
		}
		return started(pods.RunWithContext, pods.HasSynced, pods.LastSyncResourceVersion), err
	}
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
