// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo/informers"
)

// TestShutDownEventHandlerOfClientGo checks that client-go's function, which the main module's
// version of client-go does not have, waits for a call in progress of an adapter's handler.
func TestShutDownEventHandlerOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
		factory := informers.NewSharedInformerFactory(fake.NewClientset(pod), 0)
		informer := factory.Core().V1().Pods().Informer()
		resume, ended, stop := make(chan struct{}), make(chan error, 1), make(chan struct{})
		handle, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-resume }})
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		synctest.Wait()
		go func() { ended <- clientcache.ShutDownEventHandler(informer, handle) }()
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("it returned during the call")
		}
		close(resume)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(stop)
		factory.Shutdown()
	})
}
