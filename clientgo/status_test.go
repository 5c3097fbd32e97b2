// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestStatusOf checks the condition of an informer, of its handlers and of its health before,
// during and after Run.
func TestStatusOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a", "b"), &corev1.Pod{}, 0, nil)
		release := make(chan struct{})
		withHandler(t, clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})(informer)
		healthy := clientgo.ControllerOf(informer).HealthCheck(cache.HealthOptions{})
		if status := clientgo.StatusOf(informer); status.Phase != cache.PhaseIdle || healthy(nil) == nil {
			t.Errorf("before Run: %+v, %v", status, healthy(nil))
		}
		h := runInformer(t, informer)
		cachetest.Advance(time.Second)
		status := clientgo.StatusOf(informer)
		if status.Name != "Pod" || status.Phase != cache.PhaseWatching || status.Store.Objects != 2 || !status.Synced || status.Requests.NotStreamingReason == "" {
			t.Errorf("while a handler blocks: %+v", status)
		}
		if len(status.Handlers) != 1 || status.Handlers[0].Backlog != 2 || status.Handlers[0].Lag < time.Second ||
			status.Handlers[0].CurrentKey == "" || status.Handlers[0].CurrentFor < time.Second {
			t.Errorf("the handlers are %+v", status.Handlers)
		}
		close(release)
		synctest.Wait()
		if status := clientgo.StatusOf(informer); !status.Synced || healthy(nil) != nil {
			t.Errorf("after the first events: %+v, %v", status, healthy(nil))
		}
		h.stop()
		if status := clientgo.StatusOf(informer); status.Phase != cache.PhaseStopped || healthy(nil) == nil {
			t.Errorf("after Run: %+v, %v", status, healthy(nil))
		}
	})
}

// TestControllerOfWaitsForWrites reads a program's own writes through the adapter.
func TestControllerOfWaitsForWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{})
		controller := clientgo.ControllerOf(h.informer)
		written := cachetest.Pod("b")
		written.ResourceVersion = "3"
		waited := make(chan error, 1)
		go func() { waited <- controller.WaitForObject(t.Context(), written) }()
		synctest.Wait()
		if len(waited) > 0 {
			t.Error("the wait ended before the write arrived")
		}
		server.Create(cachetest.Pod("b"))
		if err := <-waited; err != nil {
			t.Error(err)
		}
		server.Delete("ns/b")
		if err := controller.WaitForDelete(t.Context(), written); err != nil {
			t.Error(err)
		}
		if _, ok, _ := h.informer.GetStore().GetByKey("ns/b"); ok {
			t.Error("the store has the deleted object")
		}
	})
}

// A key waits until informers of this package have its writes. There is nothing to wait for with
// an informer of client-go, of which Options.UseClientGo makes the controller invalid.
func TestConsistencyStoreOfControllers(t *testing.T) {
	liveAndPacked(t, func(t *testing.T, packed bool) {
		server := newServer("a")
		h := run(t, server, clientgo.Options{Packed: packed})
		requeued := make(chan string, 10)
		writes := cache.NewConsistencyStore(func(key string) { requeued <- key })
		expectWait := func(end func()) {
			t.Helper()
			synctest.Wait()
			if err := writes.EnsureReady("owner"); err == nil || len(requeued) > 0 {
				t.Errorf("EnsureReady returned %v, %d keys are requeued", err, len(requeued))
			}
			end()
			if key := <-requeued; key != "owner" || writes.EnsureReady(key) != nil {
				t.Errorf("requeued %q, then %v", key, writes.EnsureReady(key))
			}
		}
		written := cachetest.Pod("b", cachetest.WithVersion("3"))
		writes.WroteAt("owner", clientgo.ControllerOf(h.informer), written)
		expectWait(func() { written = server.Create(cachetest.Pod("b")) })
		writes.Deleted("owner", clientgo.ControllerOf(h.informer), written)
		expectWait(func() {
			written.DeletionTimestamp, written.Finalizers = new(metav1.Now()), []string{"example.com/f"}
			server.Update(written)
		})

		other := clientgo.With(clientgo.Options{UseClientGo: true}).NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		writes.WroteAt("other", clientgo.ControllerOf(other), cachetest.Pod("b", cachetest.WithVersion("99")))
		if err := writes.EnsureReady("other"); err != nil {
			t.Errorf("an informer of client-go: %v", err)
		}
	})
}

// TestControllerOfRunsTheInformer checks that Run of the controller is the informer's.
func TestControllerOfRunsTheInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- clientgo.ControllerOf(informer).Run(ctx) }()
		<-informer.HasSyncedChecker().Done()
		cancel()
		if err := <-stopped; err != nil || !informer.IsStopped() {
			t.Errorf("Run returned %v, stopped is %v", err, informer.IsStopped())
		}
	})
}

// TestControllerOfOtherInformer checks that an informer of client-go has an invalid controller.
func TestControllerOfOtherInformer(t *testing.T) {
	controller := clientgo.ControllerOf(coreinformers.NewPodInformer(clientfake.NewClientset(), "", 0, nil))
	status := controller.Status()
	if status.Phase != cache.PhaseInvalid || status.Err == nil || !strings.Contains(status.Err.Error(), "not an informer of kinformer") {
		t.Errorf("the status is %+v", status)
	}
	for name, err := range map[string]error{
		"Run":             controller.Run(t.Context()),
		"WaitForDelivery": controller.WaitForDelivery(t.Context()),
		"WaitForObject":   controller.WaitForObject(t.Context(), cachetest.Pod("a")),
		"HealthCheck":     controller.HealthCheck(cache.HealthOptions{})(nil),
	} {
		if !errors.Is(err, status.Err) {
			t.Errorf("%s returned %v", name, err)
		}
	}
}

// emptyWrapper embeds no informer.
type emptyWrapper struct{ *wrappedInformer }

// TestStatusOfNil checks that nil and wrappers of nothing have an invalid controller.
func TestStatusOfNil(t *testing.T) {
	for _, informer := range []clientcache.SharedIndexInformer{nil, (*wrappedInformer)(nil), &wrappedInformer{}, &emptyWrapper{}} {
		if status := clientgo.StatusOf(informer); status.Phase != cache.PhaseInvalid || status.Err == nil {
			t.Errorf("%T: the status is %+v", informer, status)
		}
	}
}

// TestControllersOfFactory checks that the controllers of a factory are those of its informers.
func TestControllersOfFactory(t *testing.T) {
	client := clientfake.NewClientset()
	typed := plain.NewSharedInformerFactory(client, 0)
	typed.Core().V1().Pods().Informer()
	typed.Core().V1().Services().Lister()
	generated := clientgo.Generated(typed, clientgo.Options{})
	dynamicFactory := plain.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClient(scheme.Scheme), 0)
	dynamicFactory.ForResource(podResource)
	for name, c := range map[string]struct {
		factory any
		want    int
	}{"typed": {typed, 2}, "dynamic": {dynamicFactory, 1}, "generated, not used": {generated, 0}, "other": {t, 0}} {
		if got := clientgo.ControllersOf(c.factory); len(got) != c.want {
			t.Errorf("%s: %d controllers, want %d", name, len(got), c.want)
		}
	}
}

// TestUnsyncedFactoryHasCause checks that the error of a wait that timed out wraps the reason why
// an informer has not synced.
func TestUnsyncedFactoryHasCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewClientset()
		failLists(client, "pods", apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no permission")), always)
		factory := plain.NewSharedInformerFactory(client, 0)
		factory.Core().V1().Pods().Informer()
		factory.Core().V1().Services().Informer()
		startFactory(t, factory)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := factory.WaitForCacheSyncWithContext(ctx).Err
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if !strings.Contains(err.Error(), "Pod: list") || strings.Contains(err.Error(), "Service: ") {
			t.Errorf("the error names the wrong informer: %v", err)
		}
	})
}

// TestControllerOfNewInformer checks that the controller that NewInformer returns can be asked,
// too.
func TestControllerOfNewInformer(t *testing.T) {
	_, controller := plain.NewInformer(newServer("a"), &corev1.Pod{}, 0, clientcache.ResourceEventHandlerFuncs{})
	if status := clientgo.StatusOf(controller); status.Phase != cache.PhaseIdle || len(status.Handlers) != 1 {
		t.Errorf("the status is %+v", status)
	}
}

// TestGroupReceivesInformers checks the views of informers made with a group, by constructors and
// by a factory, and that a stopped one is forgotten.
func TestGroupReceivesInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group cache.Group
		constructors := clientgo.With(clientgo.Options{Group: &group})
		h := runInformer(t, constructors.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil))
		factory := constructors.NewSharedInformerFactory(clientfake.NewClientset(), 0)
		factory.Core().V1().Secrets().Informer()
		synctest.Wait()
		views := group.Views()
		if len(views) != 2 || views[0].Kind() != "Pod" || views[0].Status().Store.Objects != 1 || views[1].Kind() != "Secret" {
			t.Fatalf("%d views: %+v", len(views), views)
		}
		if of := clientgo.Views(factory).Views(); len(of) != 1 || of[0].ID() != views[1].ID() {
			t.Errorf("%d views of the factory, want that of its only informer", len(of))
		}
		if obj, exists, err := views[0].Get("ns/a"); err != nil || !exists || obj.GetName() != "a" {
			t.Errorf("Get returned %v, %v, %v", obj, exists, err)
		}
		h.stop()
		if left := group.Views(); len(left) != 1 || left[0].ID() != views[1].ID() {
			t.Errorf("%d views after one informer has stopped, want the other", len(left))
		}
		if none := clientgo.Views(nil).Views(); none != nil {
			t.Errorf("%d views of another factory", len(none))
		}
	})
}
