// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	clientgocache "github.com/kinformer/kinformer/clientgo/cache"
)

// TestShutDownEventHandlerWaitsForLastCall checks that ShutDownEventHandler waits for a call in
// progress, and returns at once for an informer that did not run or has stopped.
func TestShutDownEventHandlerWaitsForLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := plain.NewSharedIndexInformer(newServer(), &corev1.Pod{}, 0, nil)
		handle, err := idle.AddEventHandler(&recordingHandler{})
		if err != nil {
			t.Fatal(err)
		}
		if err := clientgocache.ShutDownEventHandler(idle, handle); err != nil {
			t.Errorf("for an informer that did not run, it returned %v", err)
		}
		resume, ended := make(chan struct{}), make(chan error, 1)
		h := run(t, newServer("a"), clientgo.Options{})
		handle = h.add(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-resume }})
		synctest.Wait()
		go func() { ended <- clientgocache.ShutDownEventHandler(h.informer, handle) }()
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("it returned during the call")
		}
		close(resume)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.stop()
		if err := clientgocache.ShutDownEventHandler(h.informer, h.handle); err != nil {
			t.Errorf("for an informer that has stopped, it returned %v", err)
		}
	})
}
