// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// scopesInformer holds the Pods of namespaces.
type scopesInformer struct {
	syncInformer
	add     func(namespace string) error
	watches *openWatches
}

// openWatches counts the watches that a server has accepted.
type openWatches struct{ n atomic.Int64 }

// config returns a client's configuration, and the number of its watches.
func (job ScopesJob) config() (*rest.Config, *openWatches) {
	config, watches := Server{URL: job.URL}.config(), &openWatches{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusOK && r.URL.Query().Has("watch") {
				watches.n.Add(1)
			}
			return resp, err
		})
	})
	return config, watches
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newScopesInformer returns an informer that does not run yet, with one handler.
type newScopesInformer func(job ScopesJob, counts counts) (scopesInformer, error)

func scopesInformers() map[string]newScopesInformer {
	return map[string]newScopesInformer{
		Kinformer:         overScopes(options{}, addEventHandler),
		Packed:            overScopes(options{Packed: true}, addKeyHandler),
		ControllerRuntime: multiNamespaceCache,

		Informers:         informerOfEach(true, sharedInformerOf(options{}, addEventHandler)),
		PackedInformers:   informerOfEach(true, sharedInformerOf(options{Packed: true}, addKeyHandler)),
		AdapterInformers:  informerOfEach(false, sharedIndexInformerOf(clientgo.With(clientgo.Options{}).NewSharedInformerFactoryWithOptions, nil)),
		ClientGoInformers: informerOfEach(false, sharedIndexInformerOf(informers.NewSharedInformerFactoryWithOptions, nil)),

		InformersStartAny:       informerOfEach(true, sharedInformerOf(options{StartAny: true}, addEventHandler)),
		PackedInformersStartAny: informerOfEach(true, sharedInformerOf(options{Packed: true, StartAny: true}, addKeyHandler)),
		PackedInformersByNode:   informerOfEach(true, sharedInformerOf(options{Packed: true, Indexers: ByNamespaceAndNode()}, addKeyHandler)),
		ClientGoInformersByNode: informerOfEach(false, sharedIndexInformerOf(informers.NewSharedInformerFactoryWithOptions, ClientGoByNode())),
	}
}

type addHandler func(pods *cache.SharedInformer[*corev1.Pod], count *handlerCount) error

func addEventHandler(pods *cache.SharedInformer[*corev1.Pod], count *handlerCount) error {
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: func(*corev1.Pod) { count.add() }}, cache.HandlerOptions{})
	return err
}

func addKeyHandler(pods *cache.SharedInformer[*corev1.Pod], count *handlerCount) error {
	_, err := pods.AddKeyHandler(func(cache.KeyEvent) { count.add() }, cache.HandlerOptions{})
	return err
}

// overScopes returns one SharedInformer whose scopes are the namespaces, with an index by
// namespace, as controller-runtime's informers have one.
func overScopes(options options, add addHandler) newScopesInformer {
	return func(job ScopesJob, counts counts) (scopesInformer, error) {
		config, watches := job.config()
		cache.EnableStreaming(config)
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return scopesInformer{}, err
		}
		var namespaces []cache.Scope
		for n := range job.Namespaces {
			namespaces = append(namespaces, cache.Scope{Namespace: Namespace(n)})
		}
		scopes := cache.NewScopes(namespaces...)
		options.Scopes = scopes
		options.Indexers = ByNamespace()
		pods := cache.NewSharedInformer(cache.ListWatchByNamespace(clientset.CoreV1().Pods), &corev1.Pod{}, options)
		err = add(pods, counts.handlers[0])
		run := stoppable(func(ctx context.Context) { _ = pods.Run(ctx) }, pods.HasSynced, nil)
		return scopesInformer{run, func(namespace string) error { return scopes.Add(cache.Scope{Namespace: namespace}) }, watches}, err
	}
}

var errFixed = errors.New("the namespaces are fixed")

// multiNamespaceCache returns controller-runtime's informer of the namespaces, which has one of
// client-go's for each.
func multiNamespaceCache(job ScopesJob, counts counts) (scopesInformer, error) {
	namespaces := make(map[string]ctrlcache.Config, job.Namespaces)
	for n := range job.Namespaces {
		namespaces[Namespace(n)] = ctrlcache.Config{}
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	config, watches := job.config()
	pods, err := ctrlcache.New(config, ctrlcache.Options{Scheme: scheme.Scheme, Mapper: mapper, DefaultNamespaces: namespaces})
	if err != nil {
		return scopesInformer{}, err
	}
	informer, err := pods.GetInformer(context.Background(), &corev1.Pod{}, ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return scopesInformer{}, err
	}
	_, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { counts.handlers[0].add() }})
	return scopesInformer{
		stoppable(func(ctx context.Context) { _ = pods.Start(ctx) }, informer.HasSynced, nil),
		func(string) error { return errFixed },
		watches,
	}, err
}

// newNamespaceInformer returns an informer of a namespace that does not run yet, with a handler.
type newNamespaceInformer func(client kubernetes.Interface, namespace string, count *handlerCount) (syncInformer, error)

// sharedInformerOf returns SharedInformers.
func sharedInformerOf(options options, add addHandler) newNamespaceInformer {
	return func(client kubernetes.Interface, namespace string, count *handlerCount) (syncInformer, error) {
		pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods(namespace)), &corev1.Pod{}, options)
		err := add(pods, count)
		return stoppable(func(ctx context.Context) { _ = pods.Run(ctx) }, pods.HasSynced, nil), err
	}
}

// sharedIndexInformerOf returns the SharedIndexInformers of factories of one namespace, with
// further indexes.
func sharedIndexInformerOf(newFactory func(kubernetes.Interface, time.Duration, ...informers.SharedInformerOption) informers.SharedInformerFactory, indexers clientcache.Indexers) newNamespaceInformer {
	return func(client kubernetes.Interface, namespace string, count *handlerCount) (syncInformer, error) {
		pods := newFactory(client, 0, informers.WithNamespace(namespace)).Core().V1().Pods().Informer()
		_, err := pods.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { count.add() }})
		return stoppable(pods.RunWithContext, pods.HasSynced, nil), errors.Join(err, pods.AddIndexers(indexers))
	}
}

// informerOfEach returns an informer of each namespace. All have the same client.
func informerOfEach(streams bool, newInformer newNamespaceInformer) newScopesInformer {
	return func(job ScopesJob, counts counts) (scopesInformer, error) {
		config, watches := job.config()
		if streams {
			cache.EnableStreaming(config)
		}
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return scopesInformer{}, err
		}
		var all []syncInformer
		for n := range job.Namespaces {
			one, failed := newInformer(clientset, Namespace(n), counts.handlers[0])
			all, err = append(all, one), errors.Join(err, failed)
		}
		run := func(ctx context.Context) {
			var stopped []<-chan struct{}
			for _, one := range all {
				stopped = append(stopped, one.run(ctx))
			}
			<-ctx.Done()
			for i, one := range all {
				one.stop()
				<-stopped[i]
			}
		}
		synced := func() bool { return !slices.ContainsFunc(all, func(one syncInformer) bool { return !one.synced() }) }
		return scopesInformer{stoppable(run, synced, nil), func(string) error { return errFixed }, watches}, err
	}
}

// alone returns the informer of a namespace, with a client of its own.
func alone(newInformer newNamespaceInformer, namespace string) newSyncInformer {
	return func(config *rest.Config, counts counts) (syncInformer, error) {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return syncInformer{}, err
		}
		return newInformer(clientset, namespace, counts.handlers[0])
	}
}

// loneInformer returns a SharedInformer of one namespace.
func loneInformer(namespace string) newSyncInformer {
	return streaming(alone(sharedInformerOf(options{}, addEventHandler), namespace))
}

// loneClientGo returns client-go's informer of one namespace.
func loneClientGo(namespace string) newSyncInformer {
	return alone(sharedIndexInformerOf(informers.NewSharedInformerFactoryWithOptions, nil), namespace)
}
