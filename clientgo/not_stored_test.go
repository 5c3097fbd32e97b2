// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// refuseBroken makes a transform that refuses Pods with the label broken.
func refuseBroken(t *testing.T) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return withTransform(t, func(obj any) (any, error) {
		if _, broken := obj.(*corev1.Pod).Labels["broken"]; broken {
			return nil, errRefused
		}
		return obj, nil
	})
}

var broken = cachetest.WithLabel("broken", "yes")

// TestObjectThatCannotBeStoredDoesNotLookDeleted reads such objects with a generated lister and
// from the Indexer, until a good state arrives or they are deleted. One arrives by a list or a
// WatchList, the other by a watch.
func TestObjectThatCannotBeStoredDoesNotLookDeleted(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		indexers := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
		server := newServer("a", "b")
		server.Create(cachetest.Pod("c", broken))
		h := runWith(t, server, clientgo.Options{Packed: packed}, clientcache.SharedIndexInformerOptions{Indexers: indexers}, refuseBroken(t))
		<-h.informer.HasSyncedChecker().Done()
		server.Create(cachetest.Pod("d", broken))
		server.Update(cachetest.Pod("b", broken))
		cachetest.Advance(time.Second) // utilruntime limits the rate of error reports
		h.expectEvents("A a@2 initial", "A b@3 initial")
		for _, name := range []string{"c", "d"} {
			h.expectNotStored(name)
		}
		h.expectListed(2)
		pods := corelisters.NewPodLister(h.informer.GetIndexer()).Pods("ns")
		if b, err := pods.Get("b"); err != nil || b.ResourceVersion != "3" {
			t.Errorf("Get(b) = %v, %v, want the last good state", b, err)
		}
		if none, err := pods.Get("e"); !apierrors.IsNotFound(err) {
			t.Errorf("Get(e) = %v, %v, want NotFound", none, err)
		}

		server.Update(cachetest.Pod("c"))
		cachetest.Advance(time.Second)
		h.expectEvents("A c@7")
		if c, err := pods.Get("c"); err != nil || c.ResourceVersion != "7" {
			t.Errorf("Get(c) = %v, %v after a good state", c, err)
		}
		h.expectListed(3)
		server.Delete("ns/d")
		cachetest.Advance(time.Hour) // the relist of quarantined objects
		if d, err := pods.Get("d"); !apierrors.IsNotFound(err) {
			t.Errorf("Get(d) = %v, %v after its deletion, want NotFound", d, err)
		}
		h.expectEvents()
	})
}

// expectNotStored checks every read of a Pod that could never be stored.
func (h *harness) expectNotStored(name string) {
	h.t.Helper()
	isNotStored := func(err error) bool {
		return errors.Is(err, cache.ErrNotStored) && errors.Is(err, errRefused) && !apierrors.IsNotFound(err)
	}
	indexer := h.informer.GetIndexer()
	pod, err := corelisters.NewPodLister(indexer).Pods("ns").Get(name)
	if pod != nil || !isNotStored(err) {
		h.t.Errorf("the lister returns %v, %v of %s", pod, err, name)
	}
	if obj, err := clientcache.NewGenericLister(indexer, corev1.Resource("pods")).ByNamespace("ns").Get(name); obj != nil || !isNotStored(err) {
		h.t.Errorf("the generic lister returns %v, %v of %s", obj, err, name)
	}
	if obj, exists, err := indexer.GetByKey("ns/" + name); obj != nil || exists || !isNotStored(err) {
		h.t.Errorf("GetByKey(%s) = %v, %v, %v", name, obj, exists, err)
	}
	if obj, exists, err := h.informer.GetStore().Get(cachetest.Pod(name)); obj != nil || exists || !isNotStored(err) {
		h.t.Errorf("Get(%s) = %v, %v, %v", name, obj, exists, err)
	}
}

// expectListed checks the number of objects that each list returns.
func (h *harness) expectListed(want int) {
	h.t.Helper()
	indexer := h.informer.GetIndexer()
	listed, err := corelisters.NewPodLister(indexer).Pods("ns").List(labels.Everything())
	if err != nil || len(listed) != want || len(indexer.List()) != want || len(indexer.ListKeys()) != want {
		h.t.Errorf("listed %d, %v, %d objects and %d keys, want %d", len(listed), err, len(indexer.List()), len(indexer.ListKeys()), want)
	}
}

// TestClientRefusesListWithUndecodableObject lists without streaming: the client refuses the whole
// list, the watch error handler receives the error of its decoder, and the informer does not sync.
func TestClientRefusesListWithUndecodableObject(t *testing.T) {
	f := cachetest.Formats["JSON"]
	list := bytes.Replace(f.Nodes("2", cachetest.Node("a", "1"), cachetest.Node("b", "2")), []byte(`"spec":{}`), []byte(`"spec":[true]`), 1)
	script := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, list)}, nil)
	config := script.Config()
	config.ContentType = f.ListType
	nodes := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()
	informer := plain.NewSharedIndexInformer(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return nodes.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return nil, apierrors.NewMethodNotSupported(corev1.Resource("nodes"), "watch")
		},
	}, &corev1.Node{}, 0, nil)
	errs := make(chan error, 100)
	if err := informer.SetWatchErrorHandler(func(_ *clientcache.Reflector, err error) { cachetest.TrySend(errs, err) }); err != nil {
		t.Fatal(err)
	}
	background(t, informer.RunWithContext)
	if err := cachetest.Next(t, errs); !cachetest.ErrorContains("cannot unmarshal array into Go struct field")(err) {
		t.Errorf("the watch error handler received %v, want the error of the decoder", err)
	}
	if informer.HasSynced() || len(informer.GetStore().List()) != 0 {
		t.Errorf("synced %v, the store has %v", informer.HasSynced(), informer.GetStore().List())
	}
}
