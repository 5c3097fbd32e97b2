// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var (
	widgets          = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widgetDefinition = fake.CustomResource{Group: widgets.Group, Versions: []string{widgets.Version}, Kind: "Widget"}
)

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": name},
	}}
}

// widgetLedger is a handler of client-go that counts the additions and deletions of each UID.
type widgetLedger struct {
	mu             sync.Mutex // guards the fields below
	added, deleted map[string]int
	last           string // the name in the last event
}

func (l *widgetLedger) count(counts map[string]int, obj any) {
	if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	counts[string(accessor.GetUID())]++
	l.last = accessor.GetName()
}

// check checks that n objects were added, and deleted, but for those that remain, each once.
func (l *widgetLedger) check(t *testing.T, when string, n, remain int) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.added) != n || len(l.deleted) != n-remain {
		t.Errorf("%s: %d objects were added and %d deleted, want %d and %d", when, len(l.added), len(l.deleted), n, n-remain)
	}
	for _, counts := range []map[string]int{l.added, l.deleted} {
		for uid, times := range counts {
			if times != 1 {
				t.Errorf("%s: %s was delivered %d times", when, uid, times)
			}
		}
	}
}

// servedInformers returns an informer of Widgets by each way to make one, and what starts it.
func servedInformers() map[string]func(*rest.Config, clientgo.Options) (clientcache.SharedIndexInformer, func(stop <-chan struct{})) {
	return map[string]func(*rest.Config, clientgo.Options) (clientcache.SharedIndexInformer, func(stop <-chan struct{})){
		"dynamic factory": func(config *rest.Config, options clientgo.Options) (clientcache.SharedIndexInformer, func(stop <-chan struct{})) {
			factory := clientgo.With(options).NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
			return factory.ForResource(widgets).Informer(), func(stop <-chan struct{}) {
				factory.Start(stop)
				<-stop
				factory.Shutdown()
			}
		},
		"metadata factory": func(config *rest.Config, options clientgo.Options) (clientcache.SharedIndexInformer, func(stop <-chan struct{})) {
			factory := clientgo.With(options).Metadata().NewSharedInformerFactory(metadata.NewForConfigOrDie(config), 0)
			return factory.ForResource(widgets).Informer(), func(stop <-chan struct{}) {
				factory.Start(stop)
				<-stop
				factory.Shutdown()
			}
		},
		"informer that learns its resource": func(config *rest.Config, options clientgo.Options) (clientcache.SharedIndexInformer, func(stop <-chan struct{})) {
			client := dynamic.NewForConfigOrDie(config).Resource(widgets)
			informer := options.NewInformer(&clientcache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
					return client.List(ctx, options)
				},
				WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
					return client.Watch(ctx, options)
				},
			}, widget(""), 0, clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})
			return informer, informer.Run
		},
	}
}

// Informers of client-go start when their resource does, and end with it. Handlers receive each
// object once, and reads say why there is none.
func TestInformersOfClientGoFollowTheirResource(t *testing.T) {
	for name, newInformer := range servedInformers() {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close(context.WithoutCancel(t.Context()))
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			config := server.Config()
			cache.EnableStreaming(config)
			follower := follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
			informer, run := newInformer(config, clientgo.Options{Served: follower.Resource})
			ledger := &widgetLedger{added: make(map[string]int), deleted: make(map[string]int)}
			_, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
				AddFunc: func(obj any) { ledger.count(ledger.added, obj) }, DeleteFunc: func(obj any) { ledger.count(ledger.deleted, obj) },
			})
			must(err)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = follower.Run(ctx) })
			running.Go(func() { run(ctx.Done()) })
			rest := func() {
				<-time.After(time.Minute) // in the bubble
				synctest.Wait()
			}
			expectAbsent := func(when string) {
				t.Helper()
				_, _, get := informer.GetIndexer().GetByKey("default/a")
				_, index := informer.GetIndexer().ByIndex(clientcache.NamespaceIndex, "default")
				if !errors.Is(get, cache.ErrNotServed) || !errors.Is(index, cache.ErrNotServed) || len(informer.GetIndexer().List()) > 0 {
					t.Errorf("%s: reads return %v and %v, want ErrNotServed", when, get, index)
				}
			}
			rest()
			expectAbsent("at the start")
			if informer.HasSynced() {
				t.Error("synced before the resource was served")
			}
			ledger.check(t, "at the start", 0, 0)
			for round := range 3 {
				must(server.Create(widgetDefinition.Definition()))
				for _, object := range []string{"a", "b", "c"} {
					must(server.Create(widget(object)))
				}
				rest()
				ledger.check(t, "served", 3*(round+1), 3)
				if found, err := informer.GetIndexer().ByIndex(clientcache.NamespaceIndex, "default"); len(found) != 3 || err != nil || !informer.HasSynced() {
					t.Errorf("served: the index has %d objects, synced %v: %v", len(found), informer.HasSynced(), err)
				}
				must(server.Delete(widgetDefinition.Definition()))
				rest()
				ledger.check(t, "deleted", 3*(round+1), 0)
				if _, exists, err := informer.GetIndexer().GetByKey("default/a"); exists || err != nil {
					t.Errorf("deleted: a read returns %v, %v, want none, which is true", exists, err)
				}
			}
			// What the program writes while the resource is not served is read, until the next
			// list.
			must(informer.GetIndexer().Add(own(name)))
			if _, exists, err := informer.GetIndexer().GetByKey("default/own"); !exists || err != nil {
				t.Errorf("a read of what the program has written returns %v, %v", exists, err)
			}
			must(server.Create(widgetDefinition.Definition()))
			rest()
			if keys := informer.GetIndexer().ListKeys(); len(keys) > 0 {
				t.Errorf("after a list, the store has %s", strings.Join(keys, " "))
			}
			cancel()
			running.Wait()
		})
	}
}

// own returns a Widget as an informer stores it.
func own(name string) any {
	if name == "metadata factory" {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own"}}
	}
	return widget("own")
}
