// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestSecondRunIsError calls Run during and after another Run, with different errors.
func TestSecondRunIsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		r.Run(cache.ReflectorOptions{})
		if err := r.Controller.Run(t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) {
			t.Errorf("Run during Run: %v", err)
		}
		r.ExpectSynced()
		r.CheckStop()
		n := len(r.Requests())
		if err := r.Controller.Run(t.Context()); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("Run after Run: %v", err)
		}
		if len(r.Requests()) != n {
			t.Error("the second Run made requests")
		}
		r.ExpectStored("a@2 b@3 c@4") // the store stays readable
		if err := r.Controller.WaitForDelivery(t.Context()); err != nil {
			t.Errorf("WaitForSync after Run: %v", err)
		}
	})
}

// TestReflectorRunsAgain runs a reflector twice, one Run after the other. The second continues from
// the version of the first.
func TestReflectorRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		store := cache.NewStore[*corev1.Pod](nil, nil)
		reflector := cache.NewReflector(r, &corev1.Pod{}, store, cache.ReflectorOptions{})
		run := func(run func(context.Context) error) (stop func() error) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- run(ctx) }()
			synctest.Wait()
			return func() error {
				cancel()
				return <-done
			}
		}
		stop := run(reflector.Run)
		if err := reflector.ListAndWatch(t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) {
			t.Errorf("ListAndWatch during Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		r.Delete("ns/a")
		stop = run(reflector.ListAndWatch)
		if got := cachetest.Describe(store.List()); got != "b@3 c@4" || reflector.LastSyncResourceVersion() != "5" {
			t.Errorf("stored [%s] at %s", got, reflector.LastSyncResourceVersion())
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("ListAndWatch: %v", err)
		}
		r.ExpectRequests(0, "list@0 watch@4 list@4 watch@5")
	})
}

// TestListAndWatchReturnsCause fails a list and then a watch. ListAndWatch returns the error and
// reports none.
func TestListAndWatchReturnsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		reflector := cache.NewReflector(r, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{
			ErrorHandler: func(_ context.Context, err error) { t.Errorf("reported an error that ListAndWatch returns: %v", err) },
		})
		r.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
		if err := reflector.ListAndWatch(t.Context()); !errors.Is(err, fake.Forbidden()) && !cachetest.ErrorContains("list: ")(err) {
			t.Errorf("ListAndWatch: %v", err)
		}
		r.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		if err := reflector.ListAndWatch(t.Context()); !cachetest.ErrorContains("watch: too old resource version")(err) {
			t.Errorf("ListAndWatch: %v", err)
		}
	})
}

// TestInformerBeforeRun checks the store, the status and WaitForSync, which ends with its context
// or when the informer stops.
func TestInformerBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		store, controller := cache.NewInformer(r, &corev1.Pod{}, 0, r.RecordingHandler())
		if controller.HasDelivered() || store.Len() != 0 || len(store.List()) != 0 || store.Snapshot().ResourceVersion() != "" {
			t.Error("the informer is synced or has objects before Run")
		}
		if status := controller.Status(); status.Phase != cache.PhaseIdle || status.Err != nil || status.Name != "Pod" || len(status.Handlers) != 1 {
			t.Errorf("status %+v", status)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := controller.WaitForDelivery(ctx); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("Pod has not synced")(err) {
			t.Errorf("WaitForSync: %v", err)
		}
		if len(r.Requests()) != 0 {
			t.Errorf("requests before Run: %v", r.Requests())
		}
		waited := make(chan error)
		go func() { waited <- controller.WaitForDelivery(context.Background()) }()
		canceled, cancelRun := context.WithCancel(t.Context())
		cancelRun()
		if err := controller.Run(canceled); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := <-waited; !errors.Is(err, cache.ErrStopped) {
			t.Errorf("WaitForSync after Run: %v", err)
		}
	})
}

// TestNilPointerExampleStatesType passes a nil pointer as the example.
func TestNilPointerExampleStatesType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		informer := runInformer(t, h, (*corev1.Pod)(nil), cache.InformerOptions[*corev1.Pod]{})
		if got := cachetest.Describe(informer.Store().List()); got != "a@2 b@3 c@4" || informer.Status().Name != "Pod" {
			t.Errorf("%s has stored [%s]", informer.Status().Name, got)
		}
	})
}

// TestControllerSyncsAfterHandler blocks the handler in its last call for the initial list.
func TestControllerSyncsAfterHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		resume := make(chan struct{})
		calls := 0
		_, controller := cache.NewInformer(r, &corev1.Pod{}, 0, podFuncs{AddFunc: func(*corev1.Pod) {
			if calls++; calls == 3 {
				<-resume
			}
		}})
		start(t, controller)
		synctest.Wait()
		status := controller.Status()
		if controller.HasDelivered() || !status.Synced || status.Handlers[0].Synced || status.Store.Objects != 3 {
			t.Errorf("synced before the last call has returned: %+v", status)
		}
		if name := status.Handlers[0].Name; !strings.Contains(name, "ResourceEventHandlerFuncs") {
			t.Errorf("the handler's name is %q", name)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := controller.WaitForDelivery(ctx); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("handler")(err) {
			t.Errorf("WaitForSync: %v", err)
		}
		r.Create(cachetest.Pod("d"))
		created := r.Create(cachetest.Pod("e"))
		synctest.Wait()
		if backlog := controller.Status().Handlers[0].Backlog; backlog != 5 {
			t.Errorf("backlog %d, want 5: the first batch has not returned", backlog)
		}
		close(resume)
		if err := controller.WaitForDelivery(t.Context()); err != nil || !controller.HasDelivered() {
			t.Errorf("WaitForSync: %v", err)
		}
		if err := errors.Join(controller.WaitForObject(t.Context(), created), controller.WaitForResourceVersion(t.Context(), created.ResourceVersion)); err != nil {
			t.Errorf("wait for a Pod: %v", err)
		}
		r.Delete("ns/e")
		if err := controller.WaitForDelete(t.Context(), created); err != nil {
			t.Errorf("WaitForDelete: %v", err)
		}
		if err := controller.WaitForObject(t.Context(), &corev1.Node{}); !cachetest.ErrorContains("expected *v1.Pod, got *v1.Node")(err) {
			t.Errorf("WaitForObject of another type: %v", err)
		}
		synctest.Wait()
		if status := controller.Status(); status.Handlers[0].Backlog != 0 || !status.Synced || status.Store.Objects != 4 || controller.HealthCheck(cache.HealthOptions{MaxStaleness: time.Minute})(nil) != nil {
			t.Errorf("status %+v", status)
		}
	})
}

// TestRunNamesBlockedHandlerAfterTenSeconds stops an informer whose handler does not return.
func TestRunNamesBlockedHandlerAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		resume := make(chan struct{})
		r.Handler = podFuncs{AddFunc: func(*corev1.Pod) { <-resume }}
		r.Run(cache.ReflectorOptions{})
		r.Update(cachetest.Pod("a"))
		r.ExpectStored("a@5 b@3 c@4") // the handler does not block the store
		began := time.Now()
		r.Stop()
		err := <-r.Stopped()
		if !errors.Is(err, cache.ErrHandlerBlocked) || !cachetest.ErrorContains("ResourceEventHandlerFuncs")(err) || time.Since(began) != 10*time.Second {
			t.Errorf("Run: %v, after %v", err, time.Since(began))
		}
		close(resume)
	})
}

// TestRunWaitsForSlowHandler stops an informer whose handler returns after nine seconds. The
// handler is not called again.
func TestRunWaitsForSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := cachetest.New(t)
		calls := 0
		r.Handler = podFuncs{AddFunc: func(*corev1.Pod) {
			calls++
			<-time.After(9 * time.Second)
		}}
		r.Run(cache.ReflectorOptions{})
		began := time.Now()
		r.Stop()
		if err := <-r.Stopped(); err != nil || time.Since(began) != 9*time.Second || calls != 1 {
			t.Errorf("Run: %v, after %v and %d calls", err, time.Since(began), calls)
		}
	})
}

// TestHandlerPanicLosesOneEvent disables ReallyCrash, so that a panic does not end the process. The
// handler receives the next event.
func TestHandlerPanicLosesOneEvent(t *testing.T) {
	defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	calls := 0
	runWithHandler(t, 0, podFuncs{
		AddFunc: func(p *corev1.Pod) {
			if calls++; p.Name == "b" {
				panic("error on b")
			}
		},
		UpdateFunc: func(_, _ *corev1.Pod) { panic("error on an update") },
	}, func(r *cachetest.Harness) {
		if calls != 3 || !r.Controller.HasDelivered() {
			t.Errorf("%d calls, synced %v", calls, r.Controller.HasDelivered())
		}
		r.Update(cachetest.Pod("a"))
		r.Create(cachetest.Pod("d"))
		synctest.Wait()
		if calls != 4 {
			t.Errorf("%d calls after a panic", calls)
		}
	})
}

// TestRunAllStopsOthersAfterError runs a function that fails and two that run until their context
// ends.
func TestRunAllStopsOthersAfterError(t *testing.T) {
	broken, late := errors.New("broken"), errors.New("late")
	wait := func(err error) func(context.Context) error {
		return func(ctx context.Context) error {
			<-ctx.Done()
			return err
		}
	}
	err := cache.RunAll(t.Context(), wait(nil), func(context.Context) error { return broken }, wait(late))
	if !errors.Is(err, broken) || !errors.Is(err, late) {
		t.Errorf("error %v, want both", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cache.RunAll(ctx, wait(nil), wait(nil)); err != nil {
		t.Errorf("error %v after the context ended", err)
	}
}
