package clientgo_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// This file is apart because client-go v0.36 does not have the function yet; all others
// compile with it, too.

// ShutDownEventHandler waits for the last call, and for nothing where there never was one.
func TestFact15ShutDownEventHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := clientgo.NewSharedIndexInformer(newServer(), &corev1.Pod{}, 0, nil)
		handle, err := idle.AddEventHandler(&noted{})
		if err != nil {
			t.Fatal(err)
		}
		if err := clientcache.ShutDownEventHandler(idle, handle); err != nil {
			t.Errorf("of an informer that never ran: %v", err)
		}
		resume, ended := make(chan struct{}), make(chan error, 1)
		s := run(t, newServer("a"), clientgo.Options{})
		handle, err = s.informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-resume }})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		go func() { ended <- clientcache.ShutDownEventHandler(s.informer, handle) }()
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("it has not waited for the call")
		}
		close(resume)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.stop()
		if err := clientcache.ShutDownEventHandler(s.informer, s.handle); err != nil {
			t.Errorf("of an informer that has stopped: %v", err)
		}
	})
}
