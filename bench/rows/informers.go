package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/store"
)

// collection is what both informers are given: a list, and one watch.
type collection struct {
	list    *corev1.PodList
	watcher watch.Interface
}

func newCollection(pods []corev1.Pod, watcher watch.Interface) collection {
	return collection{&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(firstVersion)}, Items: pods}, watcher}
}

// List answers every list.
func (c collection) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return c.list, nil
}

// Watch answers the one watch.
func (c collection) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return c.watcher, nil
}

// clientGoSource is a collection as client-go takes it. It says that it does not
// answer WatchList.
type clientGoSource struct{ *clientcache.ListWatch }

func (clientGoSource) IsWatchListSemanticsUnSupported() bool { return true }

// subject is an informer that is running and synced.
type subject struct {
	list func() int // reads all Pods of one namespace, or all there are; how many
	stop func() error
}

// start makes one of the informers below of a collection, with handlers that call
// onUpdate, one each.
type start func(c collection, onUpdate ...func()) (subject, error)

// syncTimeout is far more than any informer here needs.
const syncTimeout = time.Minute

// startClientGo runs a SharedIndexInformer. byNamespace says how it is read: as a
// namespace lister does, or with List.
func startClientGo(byNamespace bool) start { return startSharedIndex(newClientGo, byNamespace) }

func startSharedIndex(informerOf func(collection) clientcache.SharedIndexInformer, byNamespace bool) start {
	return func(c collection, onUpdate ...func()) (subject, error) {
		shared := informerOf(c)
		synced := []clientcache.InformerSynced{shared.HasSynced}
		for _, told := range onUpdate {
			handled, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { told() }})
			if err != nil {
				return subject{}, err
			}
			synced = append(synced, handled.HasSynced)
		}
		read := func() int { return len(shared.GetIndexer().List()) }
		if byNamespace {
			read = func() (n int) {
				_ = clientcache.ListAllByNamespace(shared.GetIndexer(), namespaceOf(0), labels.Everything(), func(any) { n++ })
				return n
			}
		}
		return runClientGo(shared, read, synced)
	}
}

// newClientGo returns a SharedIndexInformer with the index that a factory gives it.
func newClientGo(c collection) clientcache.SharedIndexInformer {
	source := clientGoSource{&clientcache.ListWatch{ListWithContextFunc: c.List, WatchFuncWithContext: c.Watch}}
	return clientcache.NewSharedIndexInformerWithOptions(source, &corev1.Pod{}, clientcache.SharedIndexInformerOptions{
		Indexers: clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc},
	})
}

// newAdapted returns ours in its place.
func newAdapted(c collection) clientcache.SharedIndexInformer {
	source := clientGoSource{&clientcache.ListWatch{ListWithContextFunc: c.List, WatchFuncWithContext: c.Watch}}
	return clientgo.NewSharedIndexInformer(source, &corev1.Pod{}, 0, clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})
}

func runClientGo(shared clientcache.SharedIndexInformer, read func() int, synced []clientcache.InformerSynced) (subject, error) {
	return runUntilSynced(read,
		func(ctx context.Context) error { shared.RunWithContext(ctx); return nil },
		func(ctx context.Context) error {
			if !clientcache.WaitForCacheSync(ctx.Done(), synced...) {
				return errors.New("not synced")
			}
			return nil
		})
}

// startShared runs a SharedInformer whose handlers are told every event, as client-go's
// are. byNamespace says how it is read: as a namespace lister does, or with List.
func startShared(byNamespace bool) start {
	return func(c collection, onUpdate ...func()) (subject, error) {
		shared := newShared(c, cache.InformerOptions[*corev1.Pod]{})
		var handled []*cache.Registration
		for _, told := range onUpdate {
			handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { told() }}
			registration, err := shared.AddEventHandler(handler, cache.HandlerOptions{Delivery: cache.EveryEvent})
			if err != nil {
				return subject{}, err
			}
			handled = append(handled, registration)
		}
		read := func() int { return len(shared.Store().List()) }
		if byNamespace {
			lister := cache.NewLister(shared.Store(), corev1.Resource("pods")).Namespace(namespaceOf(0))
			read = func() int { return len(lister.List(nil)) }
		}
		return runShared(shared, read, handled)
	}
}

// newShared returns a SharedInformer with an index by namespace.
func newShared(c collection, options cache.InformerOptions[*corev1.Pod]) *cache.SharedInformer[*corev1.Pod] {
	options.Indexers = cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)}
	return cache.NewSharedInformer(&cache.ListWatch{ListFunc: c.List, WatchFunc: c.Watch}, &corev1.Pod{}, options)
}

func runShared(shared *cache.SharedInformer[*corev1.Pod], read func() int, handled []*cache.Registration) (subject, error) {
	return runUntilSynced(read, shared.Run, func(ctx context.Context) error {
		for _, handler := range handled {
			if err := waitForHandler(ctx, handler); err != nil {
				return err
			}
		}
		return shared.WaitForSync(ctx)
	})
}

func waitForHandler(ctx context.Context, handler *cache.Registration) error {
	select {
	case <-handler.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("handler %s: %w", handler.Status().Name, ctx.Err())
	}
}

// startNothing passes the events on to the handler and keeps nothing. What is read
// is the list as it was.
func startNothing(c collection, onUpdate ...func()) (subject, error) {
	handed := make(chan runtime.Object, inFlight)
	run := func(ctx context.Context) error {
		handled := make(chan struct{})
		go func() {
			defer close(handled)
			for range handed {
				for _, told := range onUpdate {
					told()
				}
			}
		}()
		defer func() {
			close(handed)
			<-handled
		}()
		for {
			select {
			case <-ctx.Done():
				return nil
			case event := <-c.watcher.ResultChan():
				handed <- event.Object
			}
		}
	}
	read := func() int {
		pods := make([]*corev1.Pod, 0, len(c.list.Items))
		for i := range c.list.Items {
			pods = append(pods, &c.list.Items[i])
		}
		return len(pods)
	}
	return runUntilSynced(read, run, func(context.Context) error { return nil })
}

// newEngine returns the engine as cache configures it, with an index by namespace.
func newEngine[T cache.Object](source feed.Source) *informer.Informer[T] {
	config := informer.Config[T]{
		Name: "bench",
		Store: store.Config[T]{
			Key:      cache.MetaNamespaceKeyFunc[T],
			ItemKeys: true,
			Identity: func(object T) (string, string) { return string(object.GetUID()), object.GetResourceVersion() },
			Decode:   func(item feed.Item) (T, error) { return item.Object.(T), nil },
			Indexers: map[string]store.IndexFunc[T]{cache.NamespaceIndex: namespaceIndex[T]},
			Report:   func(key string, err error) { panic(fmt.Sprintf("%s: %v", key, err)) },
		},
	}
	config.Reflector.Source = source
	config.Reflector.Report = func(_ context.Context, err error) { panic(err) }
	return informer.New(config)
}

// runUntilSynced starts an informer and waits for its first full state.
func runUntilSynced(read func() int, run, waitForSync func(context.Context) error) (subject, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx) }()
	stop := func() error {
		cancel()
		return <-stopped
	}
	syncing, done := context.WithTimeout(ctx, syncTimeout)
	defer done()
	if err := waitForSync(syncing); err != nil {
		return subject{}, errors.Join(fmt.Errorf("wait for sync: %w", err), stop())
	}
	return subject{list: read, stop: stop}, nil
}

// itemOf makes an item of an object, as a source does.
func itemOf(object cache.Object) feed.Item {
	return feed.Item{
		Key:             object.GetNamespace() + "/" + object.GetName(),
		UID:             string(object.GetUID()),
		ResourceVersion: object.GetResourceVersion(),
		Object:          object,
	}
}
