// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestReadBeforeTheFirstVerdictIsNoNotFound reads from an informer before Run, and after its first
// list.
func TestReadBeforeTheFirstVerdictIsNoNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
		must(err)
		must(server.Create(definition()))
		config := server.Config()
		follower := newFollower(config)
		informer := cache.NewSharedInformer(cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(widgets)), widget(""),
			cache.InformerOptions[*unstructured.Unstructured]{Served: follower.Resource(widgets)})
		if err := informer.Store().KeyError("default/gear"); !errors.Is(err, cache.ErrNotServed) {
			t.Errorf("before Run: %v, want ErrNotServed", err)
		}
		stop := start(follower.Run, informer.Run)
		must(informer.WaitForSync(t.Context()))
		if err := informer.Store().KeyError("default/gear"); err != nil {
			t.Errorf("after the list: %v, want none", err)
		}
		must(stop())
		must(server.Close(context.Background()))
	})
}

// Permission that is granted late ends the requests for what is not served, also if there is no definition
// whose event would make the follower ask.
func TestLatePermissionIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newAllHarness(t, nil)
		h.server.InjectFault(16, func(r fake.APIRequest) bool { return r.Resource == "customresourcedefinitions" }, fake.RequestFault{Err: fake.Forbidden()})
		gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
		informer := cache.NewSharedInformer(cache.ListWatchOf(h.client.Resource(gvr)), &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}},
			cache.InformerOptions[metaObject]{Served: h.follower.Resource(gvr), ErrorHandler: func(context.Context, error) {}})
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), h.logger))
		done := make(chan error)
		go func() { done <- cache.RunAll(ctx, h.follower.Run, informer.Run) }()
		began := time.Now()
		for after(10 * time.Second); h.follower.Status().Err != nil; after(time.Second) {
			if phase := informer.Status().Phase; phase != cache.PhaseRetrying {
				t.Fatalf("phase %s without permission", phase)
			}
		}
		if granted := time.Since(began); granted < 3*time.Minute {
			t.Errorf("permission was granted after %v, while the follower still asks often", granted)
		}
		after(time.Minute + 5*time.Second)
		if phase := informer.Status().Phase; phase != cache.PhaseNotServed {
			t.Errorf("phase %s a minute after permission was granted", phase)
		}
		cancel()
		noError(t, <-done)
	})
}
