// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A program that deletes an object from the store while a relist arrives gets the listed object
// back, although its bytes were not kept: the store held it when it arrived.
func TestObjectDeletedDuringRelistIsStoredWhole(t *testing.T) {
	for name, format := range cachetest.Formats {
		for _, options := range []clientgo.Options{{Streaming: true}, {Streaming: true, Packed: true}} {
			t.Run(name+map[bool]string{true: ", packed"}[options.Packed], func(t *testing.T) {
				t.Parallel()
				testDeletedDuringRelist(t, format, options)
			})
		}
	}
}

// listWatchWithoutWatchList is a ListWatch that is asked for lists.
type listWatchWithoutWatchList struct {
	noWatchList
	*clientcache.ListWatch
}

func testDeletedDuringRelist(t *testing.T, format cachetest.Format, options clientgo.Options) {
	a, b, c := cachetest.Node("a", "1"), cachetest.Node("b", "2"), cachetest.Node("c", "3")
	a.Labels = map[string]string{"is": "whole"}
	s := cachetest.NewScript(t, []http.HandlerFunc{
		cachetest.Serve(format.ListType, format.Nodes("2", a, b)),
		cachetest.Serve(format.ListType, format.Nodes("3", c, a, b)),
	}, nil)
	s.Watches = []http.HandlerFunc{cachetest.ServeStatus(http.StatusGone, "", "Expired"), s.ServeOpen(format.WatchType, nil)}

	var informer clientcache.SharedIndexInformer
	var once sync.Once
	relisted := make(chan struct{}) // closed once a is deleted
	indexers := clientcache.Indexers{"test": func(obj any) ([]string, error) {
		if obj.(*corev1.Node).Name == "c" { // c precedes a in the relist
			once.Do(func() {
				if err := informer.GetStore().Delete(a); err != nil {
					t.Error(err)
				}
				close(relisted)
			})
		}
		return nil, nil
	}}
	config := s.Config()
	cache.EnableStreaming(config)
	nodes := corev1client.NewForConfigOrDie(config).Nodes()
	informer = clientgo.With(options).NewSharedIndexInformer(listWatchWithoutWatchList{ListWatch: &clientcache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) },
		WatchFuncWithContext: nodes.Watch,
	}}, &corev1.Node{}, 0, indexers)
	stored := make(chan string, 100)
	_, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		node := obj.(*corev1.Node)
		stored <- node.Name + "@" + node.ResourceVersion + " " + node.Labels["is"]
	}})
	if err != nil {
		t.Fatal(err)
	}
	background(t, informer.RunWithContext)
	cachetest.ExpectNext(t, stored, "a@1 whole", "b@2 ")
	cachetest.Next(t, relisted)
	got := map[string]bool{cachetest.Next(t, stored): true, cachetest.Next(t, stored): true}
	if !got["c@3 "] || !got["a@1 whole"] {
		t.Errorf("the relist added %v, want c and the whole a", got)
	}
	if obj, exists, _ := informer.GetStore().GetByKey("a"); !exists || obj.(*corev1.Node).Labels["is"] != "whole" {
		t.Errorf("the store has %v for a", obj)
	}
	if streaming, reason := clientgo.Streaming(informer); !streaming {
		t.Errorf("the informer does not stream: %s", reason)
	}
}
