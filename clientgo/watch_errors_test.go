// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

// TestWatchErrorHandlerReadsReflector checks that the reflector which a watch error handler
// receives has the informer's description. The handler of client-go reads it.
func TestWatchErrorHandlerReadsReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		var described string
		h := runWith(t, server, clientgo.Options{}, clientcache.SharedIndexInformerOptions{ObjectDescription: "the Pods"}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *clientcache.Reflector, err error) {
				described = r.TypeDescription()
				clientcache.DefaultWatchErrorHandler(ctx, r, err)
			}); err != nil {
				t.Error(err)
			}
		})
		<-h.informer.HasSyncedChecker().Done()
		if described != "the Pods" {
			t.Errorf("the reflector describes %q, want \"the Pods\"", described)
		}
	})
}

// TestPanicOfWatchErrorHandlerIsRaisedInRun checks that the caller of Run can recover from a panic
// of the watch error handler.
func TestPanicOfWatchErrorHandlerIsRaisedInRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		if err := informer.SetWatchErrorHandler(func(*clientcache.Reflector, error) { panic(errGaveUp) }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		defer func() {
			if got := recover(); got != errGaveUp {
				t.Errorf("recovered %v from Run", got)
			}
		}()
		informer.RunWithContext(ctx)
	})
}

// TestBlockedWatchErrorHandlerDoesNotBlockStop checks that the informer stops while its watch error
// handler blocks.
func TestBlockedWatchErrorHandlerDoesNotBlockStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		resume := make(chan struct{})
		defer close(resume)
		h := run(t, server, clientgo.Options{}, func(informer clientcache.SharedIndexInformer) {
			if err := informer.SetWatchErrorHandler(func(*clientcache.Reflector, error) { <-resume }); err != nil {
				t.Error(err)
			}
		})
		h.stop()
	})
}
