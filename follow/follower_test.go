// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func TestSkeleton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true, CustomResources: []fake.CustomResource{{Group: "apiregistration.k8s.io", Versions: []string{"v1"}, Kind: "APIService", ClusterScoped: true}}})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close(t.Context())
		config := server.Config()
		cache.EnableStreaming(config)
		meta, disc, dyn := metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
		follower := follow.New(meta, disc, follow.Options{})
		informer := cache.NewSharedInformer(cache.ListWatchOf(dyn.Resource(widgets)), &unstructured.Unstructured{}, cache.InformerOptions[*unstructured.Unstructured]{Served: follower.Resource(widgets)})
		_, err = informer.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](func(event cache.Event[*unstructured.Unstructured]) {
			klog.Infof("%v event %v %v left=%v unknown=%v", time.Now(), event.Type, event.Object().GetName(), event.LeftScope, event.FinalStateUnknown)
		}), cache.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cache.RunAll(ctx, follower.Run, informer.Run) }()
		time.Sleep(3 * time.Second)
		show := func() {
			synctest.Wait()
			s := informer.Status()
			klog.Infof("%v %v synced=%v err=%v objects=%d lists=%d", time.Now(), s.Phase, s.Synced, s.Err, s.Objects, s.Lists)
		}
		show()
		for range 3 {
			crd := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}.Definition()
			if err := server.Create(crd); err != nil {
				t.Fatal(err)
			}
			if err := follower.WaitForServed(ctx, widgets); err != nil {
				t.Fatal(err)
			}
			if err := informer.WaitForSync(ctx); err != nil {
				t.Fatal(err)
			}
			show()
			w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "ns", "name": "a"}}}
			if err := server.Create(w); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			show()
			if err := server.Delete(crd); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			show()
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		klog.Infof("%+v", follower.Status())
	})
}
