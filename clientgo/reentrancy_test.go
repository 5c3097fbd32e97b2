// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestHandlerCallsItsInformer calls the methods of the informer in a handler, for each event. None
// blocks.
func TestHandlerCallsItsInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		var added recordingHandler
		var own clientcache.ResourceEventHandlerRegistration
		registered := make(chan struct{})
		calls := 0
		h := run(t, server, clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			var err error
			own, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				<-registered
				calls++
				if calls == 1 {
					withHandler(t, &added)(informer)
					return
				}
				if err := informer.AddIndexers(clientcache.Indexers{"name": func(any) ([]string, error) { return nil, nil }}); err != nil {
					t.Error(err)
				}
				if _, ok, err := informer.GetIndexer().Get(obj); !ok || err != nil || informer.IsStopped() || informer.LastSyncResourceVersion() == "" {
					t.Errorf("stored: %v, %v", ok, err)
				}
				_ = informer.HasSynced()
				if err := informer.RemoveEventHandler(own); err != nil {
					t.Error(err)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			close(registered)
		})
		h.expectEvents("A a@2 initial", "A b@3 initial")
		server.Create(cachetest.Pod("c"))
		h.expectEvents("A c@4")
		if calls != 2 {
			t.Errorf("%d calls, want 2: the handler removed itself", calls)
		}
		if got := added.take(); len(got) != 3 {
			t.Errorf("the added handler received %q", got)
		}
	})
}

// TestHandlerStopsTheInformer closes the informer's stop channel in a handler. Run returns.
func TestHandlerStopsTheInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a", "b"), nil, 0, nil)
		stop := make(chan struct{})
		closeStop := sync.OnceFunc(func() { close(stop) })
		withHandler(t, clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { closeStop() }})(informer)
		began := time.Now()
		informer.Run(stop)
		if time.Since(began) > time.Second || !informer.IsStopped() {
			t.Errorf("Run returned after %v, stopped: %v", time.Since(began), informer.IsStopped())
		}
	})
}
